# The class that bounds each recording, and what stands beside it.
$ for f in launch_bound data_bound pageable_copy cuda_graph compute_bound; do fathom analyze -f json test/data/nsys/$f.sqlite.gz | sed -n 's/^    "class": "\(.*\)",$/\1/p' | head -n 1; done
launch-bound
data-bound
copy-bound
kernel-bound
kernel-bound
$ for f in launch_bound data_bound pageable_copy cuda_graph compute_bound gpt_train; do fathom analyze -f json test/data/torch/$f.json.gz | sed -n 's/^    "class": "\(.*\)",$/\1/p' | head -n 1; done
launch-bound
data-bound
copy-bound
kernel-bound
compute-bound
launch-bound

# The first screen names the device, the cause and its share, and adds up.
$ fathom analyze test/data/nsys/pageable_copy.sqlite.gz | sed -n '3,4p'
  GPU 0 took this long because it copied between host and device, with nothing to compute meanwhile:
  copy-bound, 94.8 % of a step (median of 4 steps).
$ fathom analyze test/data/nsys/pageable_copy.sqlite.gz | grep '# compute'
  # compute 503 µs (<0.1 %) + - exposed copy 1.07 s (94.0 %) + . idle 67.9 ms (6.0 %) = 1.14 s
$ fathom analyze test/data/nsys/gpt_train.sqlite.gz | wc -l | awk '{ print $1 <= 24 }'
1

# A device whose model no record tells is one.
$ echo '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 10, "dur": 5, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}]}' > bare.json; fathom analyze bare.json | grep -o '1 GPU of'
1 GPU of

# Which rank is late, and why.
$ fathom analyze test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | grep 'arrived last'
  Rank 1 arrived last in 33 of 33 collectives (its CPU submits later); its peers waited 76.8 ms for
$ fathom analyze test/data/ddp/balanced.rank0.json.gz test/data/ddp/straggler.rank1.json.gz
fathom: straggler.rank1.json.gz: begins 16.6 s after balanced.rank0.json.gz ends: not ranks of one run (fathom diff compares runs)
? 1
$ fathom analyze -f json test/data/ddp/nsys_balanced.sqlite.gz | grep -c '"fathom_analysis": 1'
1

# What is next for it: its own file, or its device where one file holds the ranks.
$ fathom analyze -f markdown test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | grep -o 'collectives, `fathom.*' | head -n 1
collectives, `fathom analyze` on its file alone.
$ fathom analyze -f markdown test/data/ddp/nsys_balanced.sqlite.gz | grep -o 'collectives, `fathom.*' | head -n 1
collectives, `fathom analyze --device 0`.

# A change is made on all devices, the time at stake is of one.
$ fathom analyze -f markdown test/data/ddp/straggler.rank0.json.gz test/data/ddp/straggler.rank1.json.gz | grep -o 'It is more than.*' | sort -u
It is more than the time at stake, 8.43 ms, which counts GPU 0 of rank 0 alone: the change is made on all

# Kernels stand beside the gaps, and are no second of theirs.
$ fathom analyze -f markdown test/data/ddp/straggler.rank0.json.gz test/data/ddp/straggler.rank1.json.gz | grep -o 'kernels: compute-bound, .* of a step'
kernels: compute-bound, 59.1 % of a step

# The new version is the second side of fathom bench, which is judged against the first.
$ fathom analyze -f markdown test/data/nsys/gpt_train.sqlite.gz | grep -o 'fathom bench [^`]*' | head -n 1
fathom bench -n 10 --metric 'REGEX' --vs 'NEW COMMAND' -- OLD COMMAND

# What copies cost is what could come back at most; waits are as severe as the time at stake beside their gain.
$ fathom analyze test/data/nsys/pageable_copy.sqlite.gz | grep -o 'pageable memory ([a-z ]*'
pageable memory (at most
$ fathom analyze test/data/nsys/sync_bound.sqlite.gz | grep -o 'storm (.*)'
storm (gain 212 to 217 µs, 3.2 to 3.3 %; at most 2.21 ms)

# The findings have one order and one word for each, and those that are confirmed come first.
$ fathom analyze -f markdown test/data/ddp/straggler.rank0.json.gz test/data/ddp/straggler.rank1.json.gz | sed -n '/^## Recomm/,/^## Not/s/^\([0-9]\.\) [*]*\([^:]*\):.*/\1 \2/p'
1. \[medium\] Communication not overlapped
2. \[medium\] Communication takes much of the GPU
3. \[medium\] Tensors converted to another type in every step
4. \[medium, suspected\] Launch overhead
$ fathom analyze -f markdown test/data/ddp/straggler.rank0.json.gz test/data/ddp/straggler.rank1.json.gz | sed -n '/^## What to do/,/^## What is/s/^\([0-9]\.\) [*]*\([^(]*\) (.*/\1 \2/p'
1. \[medium\] Communication not overlapped
2. \[medium\] Communication takes much of the GPU
3. \[medium\] Tensors converted to another type in every step

# A kernel that is on tensor cores is not asked whether it could be.
$ fathom analyze -f markdown test/data/torch/compute_bound.json.gz | grep -o 'uses tensor cores already' | head -n 1
uses tensor cores already

# A gain that reads as the time at stake is not called more than it.
$ fathom analyze -f markdown test/data/torch/pageable_copy.json.gz | grep -c 'It is more than the time at stake'
0
? 1

# A file by its suffix; it is not replaced unless asked.
$ fathom analyze -o report.md test/data/nsys/step.sqlite.gz; grep -c '^# Fathom performance report' report.md
1
$ fathom analyze -o report.md test/data/nsys/step.sqlite.gz 2>&1 | grep -c exists
1
$ fathom analyze -o report.html test/data/nsys/step.sqlite.gz; head -n 1 report.html; grep -c '<script' report.html
<!DOCTYPE html>
0
? 1
$ fathom analyze -o report.JSON test/data/nsys/step.sqlite.gz; sed -n 2p report.JSON
  "fathom_analysis": 1,
$ fathom analyze -f html -o report.md --force-overwrite test/data/nsys/step.sqlite.gz; head -n 1 report.md
<!DOCTYPE html>

# A pipe or a device is written to, and never replaced.
$ mkfifo pipe; (cat pipe > through &); fathom analyze -o pipe --force-overwrite test/data/nsys/step.sqlite.gz; test -p pipe
$ fathom analyze -o /dev/full test/data/nsys/step.sqlite.gz
fathom: /dev/full: No space left on device after 0 bytes
? 1
$ fathom import test/data/nsys/step.sqlite.gz -f -o pipe 2>&1 | tail -n 1; test -p pipe
fathom: pipe: no file that could be replaced

# The language is that of the locale, or as asked; colour is for terminals.
$ LC_ALL=zh_CN.UTF-8 fathom analyze test/data/nsys/launch_bound.sqlite.gz | grep -c '启动受限'
...
$ fathom analyze --lang zh test/data/nsys/step.sqlite.gz -f markdown | grep -c '^# Fathom 性能分析报告'
1
$ fathom analyze test/data/nsys/step.sqlite.gz | grep -c "$(printf '\033')"
0
? 1
$ fathom analyze --lang de test/data/nsys/step.sqlite.gz
fathom: analyze: --lang: de: en and zh are what there is
? 2

# Windows, steps, devices, limits.
$ fathom analyze -f json --steps 1-2 test/data/nsys/gpt_train.sqlite.gz | grep '"kind": "given"' | wc -l
1
$ fathom analyze --filter-nvtx no-such-range test/data/nsys/gpt_train.sqlite.gz > /dev/null 2>&1
? 1
$ fathom analyze --device 3 test/data/nsys/step.sqlite.gz
fathom: test/data/nsys/step.sqlite.gz: --device: 3: no such device with work in this trace
? 1
$ fathom analyze --thresholds --threshold gap.min_ns=2000 | grep '^gap.min_ns'
gap.min_ns                  2000        NS     gaps shorter than this are summed and not listed
$ fathom analyze --threshold gap.min=2000 test/data/nsys/step.sqlite.gz > /dev/null 2>&1
? 2

# What a change would gain; the critical path as rows that add up to the window.
$ fathom analyze -f json --what-if copy=0 test/data/nsys/pageable_copy.sqlite.gz | grep -A 2 '"text": "copy=0"'
        "text": "copy=0",
        "asked": true,
        "answered": true,
$ fathom analyze --what-if nonsense no-such-file
fathom: analyze: what-if nonsense: not understood (kernel:REGEX=2x, range:NAME=0, rank:N=peers, or one of copy, launch, sync, comm, host and =0)
? 2
$ fathom analyze --what-if 'kernel:[=2x' test/data/nsys/step.sqlite.gz
fathom: analyze: what-if kernel:[: character 1: missing terminating ] for character class
? 2
$ fathom analyze --what-if 'kernel:(.*)*(.*)*(.*)*x\1\1=2x' test/data/nsys/gpt_train.sqlite.gz 2>&1 | grep -c 'takes too long on'
1
$ fathom analyze -f json --path path.csv test/data/nsys/gpt_train.sqlite.gz | sed -n 's/.*"length_ns": \([0-9]*\),/\1/p' > length; awk -F, 'NR > 1 { sum += $2 - $1 } END { printf "%.0f\n", sum }' path.csv | diff - length

# The rules of nsys, in its layout; known options of nsys are taken.
$ fathom analyze -r cuda_api_sync:rows=1 -f csv test/data/nsys/step.sqlite.gz
Processing [test/data/nsys/step.sqlite.gz] with [rules/cuda_api_sync.py](rows=1)...
Duration (ns),Start (ns),PID,TID,API Name
29902,12125619,552,552,cudaDeviceSynchronize_v3020
$ fathom analyze -q -r gpu_gaps --force-export=true test/data/nsys/step.sqlite.gz | head -n 3
fathom: note: analyze: --force-export changes nothing here

 ** GPU Gaps (gpu_gaps):
$ fathom analyze -r all test/data/nsys/step.sqlite.gz | grep -c Processing
7
$ fathom analyze -r cuda_api_syn no-such-file
fathom: analyze: cuda_api_syn: no such rule (did you mean cuda_api_sync?)
? 2
$ ln -s "$(command -v fathom)" nsys; ./nsys analyze test/data/nsys/step.sqlite.gz | grep -c 'rules/gpu_gaps.py'
1

# A graph of tasks, written by hand.
$ echo '[{"name": "prepare", "duration": 2}, {"name": "compute", "duration": 6, "predecessors": ["prepare"]}, {"name": "communicate", "duration": 9, "predecessors": ["prepare"]}, {"name": "finalise", "duration": 1, "predecessors": ["compute", "communicate"]}]' > tasks.json
$ fathom analyze --what-if communicate=2x tasks.json | head -n 8
Tasks of tasks.json

Time
  Earliest end of all  12.0 ms
  Accumulated          18.0 ms
  Busy (union)         12.0 ms
  Mean concurrency     1.5
  Critical path        prepare -> communicate -> finalise
$ fathom analyze -f json --what-if 'compute=2x' --what-if 'communicate=2x' --what-if 'compute=2x,communicate=2x' tasks.json | sed -n 's/.*"gain_ns": \([0-9]*\).*/\1/p'
0
3000000
4500000
$ echo '[{"name": "a", "duration": 1, "predecessors": ["b"]}, {"name": "b", "duration": 1, "predecessors": ["a"]}]' > cycle.json; fathom analyze cycle.json 2>&1 | grep -c dependency_cycle
1

# Used wrongly.
$ fathom analyze
fathom: analyze: no file given
? 2
$ fathom analyze -f pdf no-such-file
fathom: analyze: pdf: no such format (text, markdown, json or html)
? 2
$ fathom analyze -f csv no-such-file
fathom: analyze: csv: a format of rules (-r all), not of the report (--help-formats)
? 2
$ fathom analyze --filter-time 1s/1s no-such-file
fathom: time window 1s/1s: ends where it starts
? 2
$ fathom analyze -o a.json --path a.json no-such-file
fathom: analyze: --path: a.json: is where the report goes (-o)
? 2
$ fathom analyze -f json --path - no-such-file
fathom: analyze: --path: - is where the json goes (-o names a file for it)
? 2
$ fathom analyze -o '' no-such-file
fathom: analyze: --output: no file named
? 2

$ fathom analyze -o report.pdf no-such-file
fathom: analyze: -o report.pdf: no report has this format (.txt, .md, .json or .html; -f chooses one for any name)
? 2

# A rank that overrules what a file tells is told; a name that is no range is said to be none.
$ fathom analyze -q --rank 1,0 test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz 2>&1 >/dev/null | grep -c note
0
? 1
$ fathom analyze --rank 1,0 test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz 2>&1 >/dev/null
fathom: note: --rank: 2 of 2 files tell another rank (by content or name)
$ fathom analyze --what-if range:GPT_0=0 -f json test/data/torch/gpt_train.json.gz | grep -o 'it is a call of Python'
it is a call of Python
$ fathom analyze --filter-nvtx GPT_0 test/data/torch/gpt_train.json.gz
fathom: test/data/torch/gpt_train.json.gz: range GPT_0: the trace has no NVTX ranges (annotations of PyTorch and calls of Python are none: --filter-time takes their times)
? 1

$ fathom analyze --rank 1,2 test/data/torch/gpt_train.json.gz
fathom: analyze: --rank: 2 ranks for 1 file
? 2
$ fathom analyze -o report.htm test/data/torch/gpt_train.json.gz; head -n 1 report.htm; fathom analyze -f json -o report.pdf test/data/torch/gpt_train.json.gz; head -c 1 report.pdf; echo
<!DOCTYPE html>
{

# One of several files that cannot be read is told once, and is no part of the report.
$ echo nothing > none.json; fathom analyze none.json test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz 2>&1 | head -n 2 | cut -c1-80
fathom: note: none.json: not a format that Fathom reads (a .fathom file, an Nsig
balanced.rank0.json.gz, balanced.rank1.json.gz · 6 steps (ProfilerStep of 2 ran

# What changes nothing is told.
$ fathom analyze -r gpu_gaps --path rows.csv --steps 1-2 test/data/nsys/step.sqlite.gz 2>&1 > /dev/null
fathom: note: analyze: --steps changes nothing with rules
fathom: note: analyze: --path changes nothing with rules
$ fathom analyze --timeunit usec test/data/nsys/step.sqlite.gz 2>&1 > /dev/null
fathom: note: analyze: --timeunit changes nothing without --rule
$ fathom analyze -r all --device 0 tasks.json 2>&1 > /dev/null
fathom: note: analyze: --device changes nothing for a graph of tasks
fathom: note: analyze: --rule changes nothing for a graph of tasks
$ fathom analyze no-such-file > /dev/null 2>&1
? 1
