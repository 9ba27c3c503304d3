#!/bin/bash
# tools/gpu/kinds.sh DIST DEBS OUT [CUPTIS.tar.xz] - one of each kind of record (everything.cu): against nsys
# with unified memory and CUDA events; with each version of CUPTI in the archive; killed with its launcher,
# the spool kept in OUT.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dist=$(realpath "$1") debs=$(realpath "$2") out=$(realpath "$3") cuptis=${4:+$(realpath "$4")}
work=$(mktemp -d) && cd "$work" || exit 1
export PATH=$PATH:/usr/local/cuda/bin TMPDIR=$work
for deb in "$debs"/*.deb; do dpkg -x "$deb" libs; done
libs=$(find "$PWD/libs" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
nsys=$(find / -xdev -path '*host/target-linux-x64/nsys' -type f 2>/dev/null | head -1)
timeout 100 nvcc -arch=sm_90 -O2 -o everything "$here/everything.cu" || exit 1
date -u +%F; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; "$dist/bin/fathom" --version
tables() {
	python3 - "$@" <<'PY'
import sqlite3, sys
def counts(path):
    try:
        db = sqlite3.connect(path)
        names = [n for (n,) in db.execute("select name from sqlite_master where type='table' and (name like 'CUPTI%' or name like 'CUDA%' or name like 'NVTX_E%')")]
        return {n: db.execute(f"select count(*) from {n}").fetchone()[0] for n in names}
    except sqlite3.Error as error:
        return {str(error): 0}
sides = [counts(p) for p in sys.argv[1:]]
for name in sorted(set().union(*sides)):
    print(f"    {name:45}", *(f"{s.get(name, '-'):>8}" for s in sides))
PY
}

um="--cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true --cuda-memory-usage=true"
echo "== unified memory and memory: fathom, nsys"
timeout 60 "$dist/bin/fathom" profile -f -o um $um ./everything 2>&1 | grep -v '^done'
LD_LIBRARY_PATH=$libs timeout 60 "$nsys" profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o um $um \
	--cuda-graph-trace=node ./everything 2>&1 | tail -2
LD_LIBRARY_PATH=$libs timeout 60 "$nsys" export -t sqlite -f true -o um.nsys.sqlite um.nsys-rep >/dev/null 2>&1
"$dist/bin/fathom" export -q -t sqlite -f -o um.sqlite um.fathom
tables um.sqlite um.nsys.sqlite
for report in um_sum um_total_sum um_cpu_page_faults_sum cuda_gpu_mem_size_sum; do
	echo "-- $report: nsys of its own, fathom of nsys's, fathom of its own"
	LD_LIBRARY_PATH=$libs timeout 30 "$nsys" stats -q --force-export=false -r $report -f csv um.nsys.sqlite 2>&1 | tee "$report.nsys.csv" | tail -9
	timeout 30 "$dist/bin/fathom" stats -q -r $report -f csv um.nsys.sqlite 2>&1 | tail -9
	timeout 30 "$dist/bin/fathom" stats -q -r $report -f csv um.fathom 2>&1 | tail -9
done
gzip um.nsys.sqlite
tar czf "$out/everything.tar.gz" um.nsys.sqlite.gz um.fathom ./*.nsys.csv

echo "== events: fathom, nsys with --cuda-event-trace=true"
timeout 60 "$dist/bin/fathom" profile -f -o ev --cuda-event-trace=true ./everything 2>&1 | grep -v '^done'
LD_LIBRARY_PATH=$libs timeout 60 "$nsys" profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o ev \
	--cuda-event-trace=true ./everything 2>&1 | tail -1
LD_LIBRARY_PATH=$libs timeout 60 "$nsys" export -t sqlite -f true -o ev.nsys.sqlite ev.nsys-rep >/dev/null 2>&1
"$dist/bin/fathom" export -q -t sqlite -f -o ev.sqlite ev.fathom
tables ev.sqlite ev.nsys.sqlite

echo "== killed with its launcher"
mkdir spool
setsid "$dist/bin/fathom" profile -q -f -o killed --spool "$PWD/spool" $um ./everything wait 20 >killed.out 2>&1 &
killed=$!
for i in $(seq 100); do grep -q done killed.out && break; sleep 0.2; done
pkill -9 -s "$killed"; sleep 0.5
find spool -type f | head; du -sh spool
tar czf "$out/killed-spool.tar.gz" -C spool . ; ls -la "$out/killed-spool.tar.gz"
timeout 30 "$dist/bin/fathom" import -q -f -o killed.fathom spool/* 2>&1 | tail -5
"$dist/bin/fathom" export -q -t sqlite -f -o killed.sqlite killed.fathom && tables killed.sqlite

[ -n "$cuptis" ] || exit 0
python3 -c "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(filter='data')" "$cuptis"
for version in $(ls cupti | sort -V); do
	lib=$(ls cupti/$version/libcupti.so*)
	echo "== CUPTI $version"
	FATHOM_CUPTI=$PWD/$lib timeout 60 "$dist/bin/fathom" profile -f -o v-$version ./everything >v.out 2>&1; echo "status $?"
	grep -i -E 'cupti|lost|warning|note' v.out | head -5
	"$dist/bin/fathom" export -q -t sqlite -f -o v-$version.sqlite v-$version.fathom
done
tables $(for version in $(ls cupti | sort -V); do echo v-$version.sqlite; done)
exit 0
