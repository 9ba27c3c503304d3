#!/bin/bash
# tools/gpu/nsys_reads.sh DIST DEBS CAPTURE.sqlite.gz... - nsys stats on an export of its own and on ours of the same
# capture, by way of a .fathom file: every report must print the same. Needs nsys, and no GPU.
set -u
dist=$(realpath "$1") debs=$(realpath "$2"); shift 2
captures=$(realpath "$@")
work=$(mktemp -d) && cd "$work" || exit 1
for deb in "$debs"/*.deb; do dpkg -x "$deb" libs; done
libs=$(find "$PWD/libs" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
nsys=$(find / -xdev -path '*host/target-linux-x64/nsys' -type f 2>/dev/null | head -1)
reports=cuda_gpu_kern_sum,cuda_gpu_kern_sum:base,cuda_gpu_kern_sum:mangled,cuda_gpu_kern_gb_sum,cuda_gpu_sum,cuda_api_sum,cuda_api_trace
reports=$reports,cuda_api_gpu_sum,cuda_gpu_trace,cuda_kern_exec_sum,cuda_kern_exec_trace,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum
reports=$reports,nvtx_sum,nvtx_pushpop_sum,nvtx_startend_sum,nvtx_pushpop_trace,nvtx_gpu_proj_sum,nvtx_gpu_proj_trace,nvtx_kern_sum,osrt_sum
mkdir theirs ours
stats() { (cd "$1" && LD_LIBRARY_PATH=$libs timeout 200 "$nsys" stats --force-export=false -q -f csv -r "$reports" capture.sqlite 2>&1); }
LD_LIBRARY_PATH=$libs "$nsys" --version; "$dist/bin/fathom" --version
for capture in $captures; do
	name=$(basename "$capture" .sqlite.gz)
	gunzip -c "$capture" >theirs/capture.sqlite
	"$dist/bin/fathom" import -q -f "$capture" -o capture.fathom
	"$dist/bin/fathom" export -q -f -t sqlite --lazy=true -o ours/capture.sqlite capture.fathom
	stats theirs >theirs.txt
	stats ours >ours.txt
	if cmp -s theirs.txt ours.txt; then
		echo "$name: equal, $(wc -l <ours.txt) lines of $(echo "$reports" | tr ',' '\n' | wc -l) reports"
	else
		echo "$name: DIFFERS: $(diff theirs.txt ours.txt | grep -c '^[<>]') of $(wc -l <theirs.txt) lines"
		diff theirs.txt ours.txt | head -6 | cut -c1-200
	fi
done
