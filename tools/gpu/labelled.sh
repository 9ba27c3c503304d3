#!/bin/bash
# tools/gpu/labelled.sh DIST DEBS OUT SECONDS [NAME...] - every pattern of labelled.py under
# torch.profiler, nsys and fathom profile; verdicts.py says what fathom makes of the captures.
#
# DIALECTS is "torch nsys fathom" unless set; further ones are stacks (torch.profiler with_stack)
# and nsys-os (nsys with calls of the operating system, samples and scheduling).
# DIST is an unpacked `make dist`; DEBS a folder with the libraries that nsys needs (see
# correct.sh). No run starts after SECONDS. Three programs start and finish side by side, but
# use the GPU one after the other. OUT gets captures-N.tar.gz, at most 15 MiB each.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export DIST=$(realpath "$1") LABELLED=$here/labelled.py DEBS=$(realpath "$2") OUT=$(realpath "$3") LIMIT=$4
shift 4
work=$(mktemp -d) && cd "$work" || exit 1
export PATH=$PATH:/usr/local/cuda/bin TMPDIR=$work GPU_LOCK=$work/gpu.lock TORCHINDUCTOR_CACHE_DIR=$work/inductor
for deb in "$DEBS"/*.deb; do dpkg -x "$deb" libs; done
export LIBS=$(find "$PWD/libs" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
export NSYS=$(find / -xdev -path '*host/target-linux-x64/nsys' -type f 2>/dev/null | head -1)
date -u +%F
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
LD_LIBRARY_PATH=$LIBS timeout 20 "$NSYS" --version
"$DIST/bin/fathom" --version
mkdir captures
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(sed -n 's/^    "\([a-z_]*\)": Label(.*/\1/p' "$LABELLED")

# job WHAT NAME[,NAME...]: one program under one profiler, its captures into ./captures.
job() {
	what=$1 names=$2 began=$SECONDS_AT_START
	[ $(($(date +%s) - began)) -lt "$LIMIT" ] || { echo "$what $names: not started"; return; }
	log=$what.${names%%,*}.log
	case $what in
	torch) timeout 150 python3 "$LABELLED" captures "$names" >"$log" 2>&1 ;;
	stacks) WITH_STACK=1 timeout 150 python3 "$LABELLED" captures "$names" >"$log" 2>&1 ;;
	nsys | nsys-os)
		file=$names options="--trace=cuda,nvtx --sample=none --cpuctxsw=none"
		[ $what = nsys ] || file=$names.os options="--trace=cuda,nvtx,osrt --sample=process-tree --cpuctxsw=process-tree"
		PLAIN=1 LD_LIBRARY_PATH=$LIBS timeout 90 "$NSYS" profile $options -c cudaProfilerApi \
			--capture-range-end=stop --cuda-graph-trace=node -f true -o "$file" \
			python3 "$LABELLED" . "$names" >"$log" 2>&1
		LD_LIBRARY_PATH=$LIBS timeout 60 "$NSYS" export -t sqlite -f true -o "$file.sqlite" "$file.nsys-rep" >>"$log" 2>&1 &&
			gzip "$file.sqlite" && mv "$file.sqlite.gz" captures/ ;;
	fathom)
		PLAIN=1 timeout 90 "$DIST/bin/fathom" profile -q -f -c cudaProfilerApi --capture-range-end=stop -o "$names" \
			python3 "$LABELLED" . "$names" >"$log" 2>&1
		mv "$names.fathom" captures/ ;;
	esac
	status=$?
	echo "$(($(date +%s) - began)) s $what: status $status: $(grep -h ' ms a step' "$log" | tr '\n' ';')"
	[ $status = 0 ] || tail -n 8 "$log"
}
export -f job
export SECONDS_AT_START=$(date +%s)
{
	for ((i = 0; i < ${#names[@]}; i += 8)); do
		for dialect in ${DIALECTS:-torch nsys fathom}; do
			case $dialect in
			torch | stacks) echo "$dialect" "$(IFS=,; echo "${names[*]:i:8}")" ;;
			*) for name in "${names[@]:i:8}"; do echo "$dialect" "$name"; done ;;
			esac
		done
	done
} | xargs -P 3 -L 1 bash -c 'job "$@"' job

cd captures || exit 1
room=$((14 << 20)) n=1 used=0 all=0
pack() { [ ${#files[@]} = 0 ] || tar -czf "$OUT/captures-$n.tar.gz" "${files[@]}"; n=$((n + 1)) used=0 files=(); }
files=()
for file in *; do
	[ -f "$file" ] || continue
	size=$(stat -c %s "$file")
	[ "$size" -le $((12 << 20)) ] || { echo "$file: $size bytes, not packed"; continue; }
	[ $((all + size)) -le $((58 << 20)) ] || { echo "$file: $size bytes, no room left"; continue; }
	[ $((used + size)) -le $room ] || pack
	files+=("$file") used=$((used + size)) all=$((all + size))
done
pack
printf '%-18s %9s %9s %9s %9s %9s\n' pattern torch stacks nsys nsys-os fathom
size_of() { stat -c %s "$1" 2>/dev/null || echo -; }
for name in "${names[@]}"; do
	printf '%-18s %9s %9s %9s %9s %9s\n' "$name" "$(size_of "$name.json.gz")" "$(size_of "$name.stacks.json.gz")" \
		"$(size_of "$name.sqlite.gz")" "$(size_of "$name.os.sqlite.gz")" "$(size_of "$name.fathom")"
done
