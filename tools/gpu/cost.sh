#!/bin/bash
# tools/gpu/cost.sh DIST DEBS ROUNDS SECONDS [windows | PROGRAM...] - cost.py, or cost_windows.py, with the programs built and nsys found (see correct.sh).
set -u
here=$(cd "$(dirname "$0")" && pwd)
dist=$(realpath "$1") debs=$(realpath "$2")
work=$(mktemp -d) && cd "$work" || exit 1
export PATH=$PATH:/usr/local/cuda/bin TMPDIR=$work N=${N:-60}
for deb in "$debs"/*.deb; do dpkg -x "$deb" libs; done
libs=$(find "$PWD/libs" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
found=$(find / -xdev -path '*host/target-linux-x64/nsys' -type f 2>/dev/null | head -1)
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libs" "$found" >nsys && chmod +x nsys
for program in launch graph; do timeout 100 nvcc -arch=sm_90 -O2 -o $program "$here/$program.cu"; done
date -u +%F; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; ./nsys --version; "$dist/bin/fathom" --version
shift 2
if [ "${3:-}" = windows ]; then
	python3 "$here/cost_windows.py" "$dist" "$PWD/nsys" "$1" "$2"
else
	python3 "$here/cost.py" "$dist" "$PWD/nsys" "$@"
fi
