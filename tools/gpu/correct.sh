#!/bin/bash
# tools/gpu/correct.sh DIST DEBS OUT [PROGRAM...] - fathom against nsys in one run plan: the
# same kernels, launches, copies, ranges, streams and graph nodes.
#
# DIST is an unpacked `make dist`; DEBS a folder with the libraries that nsys
# needs (libdw1 libelf1 libbz2-1.0 liblzma5 libzstd1 zlib1g as .deb files).
set -u
here=$(cd "$(dirname "$0")" && pwd)
dist=$(realpath "$1") debs=$(realpath "$2") out=$(realpath "$3"); shift 3
only=" $* "
work=$(mktemp -d) && cd "$work" || exit 1
export PATH=$PATH:/usr/local/cuda/bin TMPDIR=$work
for deb in "$debs"/*.deb; do dpkg -x "$deb" libs; done
libs=$(find "$PWD/libs" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
nsys=$(find / -xdev -path '*host/target-linux-x64/nsys' -type f 2>/dev/null | head -1)
date -u +%F
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
LD_LIBRARY_PATH=$libs timeout 20 "$nsys" --version
"$dist/bin/fathom" --version
timeout 100 nvcc -arch=sm_90 -O2 -o launch "$here/launch.cu" && timeout 100 nvcc -arch=sm_90 -O2 -o kernels "$here/kernels.cu"

# pair NAME "OPTIONS" COMMAND...: the program under fathom and under nsys.
pair() {
	name=$1 options=$2; shift 2
	[ "$only" = "  " ] || [[ $only == *" $name "* ]] || return 0
	timeout 100 "$dist/bin/fathom" profile -q -f -o "$name" $options "$@" >"$name.out" 2>"$name.err"; status=$?
	[ $status = 0 ] || { echo "$name: fathom profile: status $status"; tail -3 "$name.err"; }
	grep note "$name.err" | grep -v 'not recorded by' | head -3
	LD_LIBRARY_PATH=$libs timeout 150 "$nsys" profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true \
		-o "$name" ${options/--cuda-graph-trace=none/} "$@" >"$name.nsys.out" 2>&1 || tail -3 "$name.nsys.out"
	LD_LIBRARY_PATH=$libs timeout 100 "$nsys" export -t sqlite -f true -o "$name.nsys.sqlite" "$name.nsys-rep" >/dev/null 2>&1
	timeout 60 "$dist/bin/fathom" export -q -t sqlite -f -o "$name.sqlite" "$name.fathom" 2>>"$name.err" || tail -1 "$name.err"
	timeout 60 python3 "$here/compare.py" "$name" "$name.sqlite" "$name.nsys.sqlite"
	cp "$name.fathom" "$out/" 2>/dev/null
}

window="-c cudaProfilerApi --capture-range-end=stop --cuda-graph-trace=node"
pair kernels "" ./kernels
pair launch "" ./launch 20000
pair workload "$window" python3 "$here/workload.py" --capture
N=15 pair train "" python3 "$here/train.py"
export PLAIN=1
for pattern in compute_bound memory_bound launch_bound sync_bound data_bound pageable_copy two_streams cuda_graph gpt_train; do
	pair "$pattern" "$window" python3 "$here/patterns.py" "$work" "$pattern"
done
unset PLAIN
[ "$(nvidia-smi -L | wc -l)" -ge 2 ] &&
	pair ddp "$window" python3 -m torch.distributed.run --standalone --nproc-per-node 2 "$here/ddp.py" balanced "$work" nsys
exit 0
