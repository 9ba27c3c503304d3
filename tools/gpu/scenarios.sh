#!/bin/bash
# tools/gpu/scenarios.sh DIST [SCENE...] - scenarios.py with its programs built.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dist=$(realpath "$1"); shift
work=$(mktemp -d) && cd "$work" || exit 1
export PATH=$PATH:/usr/local/cuda/bin TMPDIR=$work
for program in launch graph scenes; do timeout 100 nvcc -arch=sm_90 -O2 -o $program "$here/$program.cu" || exit 1; done
date -u +%F; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; "$dist/bin/fathom" --version
python3 "$here/scenarios.py" "$dist" "$@"
