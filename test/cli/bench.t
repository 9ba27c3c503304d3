# fathom bench: runs without any profiler. Times differ, so that what surrounds them is looked at.
$ fathom bench
fathom: bench: no program given
? 2
$ fathom bench -n 3 -- true | grep -v '[0-9][0-9]'
A: true
Not counted: 1 run a side to warm up, 0 that failed
...
$ fathom bench -n 3 -w 0 --format csv -- true | cut -d, -f1-4
Side,Measure,Unit,Runs
A,wall,ms,3
A,user CPU,ms,3
A,system CPU,ms,3
A,max RSS,MB,3

# A number of the program's own is what is compared: the group of the last match.
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --format csv -- sh -c 'echo ms 9; echo ms 2.5' | grep metric
A,metric,,5,2.500,2.500,2.500,2.500,,2.500,2.500
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --vs 'echo ms 3' -- sh -c 'echo ms 2.5' | tail -n 3
B / A = 1.2000, 95 % interval 1.2000 to 1.2000 (percentiles; 10000 draws, seed 20190131)
Ratio of means by Fieller: 1.2000 to 1.2000
Verdict: regressed (gate 2 %)
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --vs 'echo ms 3' -- sh -c 'echo ms 2.5' > /dev/null
? 3
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --vs 'echo ms 2' -- sh -c 'echo ms 2.5' | tail -n 1
Verdict: improved (gate 2 %)
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --higher-is-better --vs 'echo ms 2' -- sh -c 'echo ms 2.5' | tail -n 1
Verdict: regressed (gate 2 %)
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --gate 25% --vs 'echo ms 3' -- sh -c 'echo ms 2.5' | tail -n 1
Verdict: unchanged (gate 25 %)

# A percentile needs as many runs as have one beyond it: p95 twenty of them.
$ fathom bench -n 20 -w 0 -m 'ms ([0-9.]+)' --format csv -- sh -c 'echo ms 2.5' | grep metric
A,metric,,20,2.500,2.500,2.500,2.500,2.500,2.500,2.500

# One run tells nothing about runs.
$ fathom bench -n 1 -w 0 -m 'ms ([0-9.]+)' --vs 'echo ms 3' -- sh -c 'echo ms 2.5' > /dev/null
? 4

# A run that fails is told, and not counted.
$ fathom bench -n 2 -w 0 --format csv -- sh -c 'echo no such device; exit 7'
fathom: note: bench: run 1 (A): ended with status 7, not counted: no such device
fathom: note: bench: run 2 (A): ended with status 7, not counted: no such device
fathom: bench: 2 of 2 runs failed
? 1
$ fathom bench -n 9 -w 0 -- sh -c 'kill -9 $$' 2>&1 | grep -c 'ended by signal 9'
3
$ fathom bench -n 2 -w 0 -m 'ms ([0-9.]+)' -- echo none 2>&1 | grep -c 'matches no number in its output'
2
$ fathom bench -n 2 -- ./no-such-program
fathom: bench: ./no-such-program: No such file or directory
? 1
# The last match counts, also where it is no number: an earlier one is of another moment.
$ fathom bench -n 2 -w 0 -m 'loss ([^ ]+)' -- sh -c 'echo loss 5; echo loss nan' 2>&1 | grep -c 'matches no number in its output, not counted: loss nan'
2
$ fathom bench -n 2 -w 0 -m 'loss ([^ ]+)' -- sh -c 'echo loss 5; echo loss 1e999' 2>&1 | grep -c 'matches no number'
2

# Of what is no amount there is no ratio, whatever the division would give.
$ fathom bench -n 5 -w 0 -m 'x ([-0-9.]+)' --vs 'echo x -2' -- echo x -1 | tail -n 1
Verdict: inconclusive: values that are negative, mostly 0 or not finite have no ratio (gate 2 %)
$ fathom bench -n 5 -w 0 -m 'x ([-0-9.]+)' --vs 'echo x 0' -- echo x 1 > /dev/null
? 4
$ fathom bench -n 3 -w 0 -m 'x ([0-9.]+)' --higher-is-better --vs 'echo x 5' -- echo x 6 | tail -n 1
Verdict: regressed (gate 2 %)

# What cannot be written is told before the runs, and nothing but a file is replaced.
$ fathom bench -n 9 -o no-such-folder/a.json -- sleep 9
fathom: bench: no-such-folder/a.json: No such file or directory
? 1
$ mkfifo pipe; fathom bench -n 9 -f -o pipe -- sleep 9
fathom: bench: pipe: no regular file, not replaced
? 2

# Interrupted at any moment, it keeps what it has; the program that runs is ended, too.
$ timeout --preserve-status 1 fathom bench -n 100000 -w 0 -o kept.json -- true 2>&1 > kept.txt | sed 's/[0-9][0-9]*/N/g'; grep -c ' wall ' kept.txt; python3 -c 'import json; r = json.load(open("kept.json"))["runs"]; print(len(r) > 5)'
...
fathom: bench: interrupted after N of N runs
1
True
$ timeout --preserve-status 1 fathom bench -n 2 -w 0 -- sleep 60 > /dev/null
fathom: note: bench: run 1 (A): ended by signal 15, not counted
fathom: bench: interrupted after 1 of 2 runs
? 1
$ cp "$(command -v sleep)" gone; (sleep 0.5; rm gone) & fathom bench -n 100 -w 0 --format csv -- ./gone 0.2 2> err | grep -c wall; sed 's/[0-9][0-9]*/N/g' err
1
fathom: note: bench: ./gone: No such file or directory
fathom: bench: no more could be started after N of N runs

# The verdict is in markdown, too.
$ fathom bench -n 5 -w 0 -m 'ms ([0-9.]+)' --format markdown --vs 'echo ms 3' -- echo ms 2.5 | grep '^    A\|^| A | metric\|Verdict'
    A: echo ms 2.5
| A | metric |  | 5 | 2.500 | 2.500 | 2.500 | 2.500 |  | 2.500 | 2.500 |
    Verdict: regressed (gate 2 %)

# Runs are kept, and two files are compared.
$ fathom bench -n 6 -w 0 -m 'ms ([0-9.]+)' -o a.json -- sh -c 'echo ms 2.5' > /dev/null
$ fathom bench -n 6 -w 0 -m 'ms ([0-9.]+)' -o b.json -- sh -c 'echo ms 2.5' > /dev/null
$ fathom bench -n 6 -w 0 -m 'ms ([0-9.]+)' -o c.json -- sh -c 'echo ms 5' > /dev/null
$ fathom bench -n 2 -o a.json -- true
fathom: bench: a.json: exists (-f replaces it)
? 2
$ fathom bench -n 2 -o a.csv -- true
fathom: bench: -o a.csv: runs are kept as JSON, for fathom diff (.json)
? 2
$ python3 -c 'import json; d = json.load(open("a.json")); print(d["format"], d["version"], len(d["runs"]), d["runs"][5]["metric"], d["summary"][0]["median"])'
fathom bench 1 6 2.5 2.5
$ fathom diff a.json b.json | grep Verdict
Verdict: unchanged (gate 2 %)
$ fathom diff --step step --statistic p95 a.json b.json | grep Verdict
fathom: note: diff: --step changes nothing for files of fathom bench, which have runs and no steps
fathom: note: diff: --statistic: p95 of 6 iterations is the longest: it takes 20 to have one in twenty
Verdict: unchanged (gate 2 %)
$ fathom diff a.json a.json | grep Verdict
Verdict: unchanged: both sides are the same recording, row by row (gate 2 %)
$ fathom diff a.json,a.json b.json | grep Verdict
Verdict: inconclusive: a recording is given twice on one side, and counts as one run (gate 2 %)
$ cp a.json a,1.json; cp b.json ,b,; fathom diff a,1.json,c.json ,b, | head -2
old: a,1.json,c.json, 12 runs with 12 iterations that count
new: ,b,, 6 runs with 6 iterations that count
$ fathom diff a.json c.json | grep 'Verdict\|DIFFERS'
Verdict: not comparable: conditions differ: command (--changed command if that was meant) (gate 2 %)
  DIFFERS command: sh -c echo ms 2.5 | sh -c echo ms 5
$ fathom diff --changed command a.json c.json | grep 'Verdict\|changed'
Verdict: regressed (gate 2 %)
  changed command: sh -c echo ms 2.5 | sh -c echo ms 5
$ fathom diff --changed command a.json c.json > /dev/null
? 3
$ fathom diff a.json test/data/torch/launch_bound.json.gz > /dev/null
? 5
$ fathom diff a.json,test/data/torch/launch_bound.json.gz b.json
fathom: diff: test/data/torch/launch_bound.json.gz: no file of fathom bench, as another of this side is
? 1
$ echo '{"format": "fathom bench", "version": 7}' > d.json; fathom diff a.json d.json
fathom: diff: d.json: version 7 of fathom bench, expected 1
? 1
$ echo '{"format": "fathom bench", "version": 1, "sides": [], "runs": [{}]}' > d.json; fathom diff a.json d.json
fathom: diff: d.json: run 1: no side or no wall_ns
? 1

# Used wrongly.
$ fathom bench -m 'ms [0-9]+' -- true
fathom: bench: --metric: ms [0-9]+ has no group (...) around the number
? 2
$ fathom bench -m '(' -- true
fathom: bench: --metric: byte 1: missing closing parenthesis
? 2
$ fathom bench --vs true --perturbation -- true
fathom: bench: --vs and --perturbation: one of them, so that one thing is compared
? 2
$ fathom bench --vs ' ' -- true
fathom: bench: --vs: no command given
? 2
$ fathom bench --gate 3x -- true
fathom: bench: --gate: 3x: expected a share such as 3%
? 2
$ fathom bench -n 0 -- true
fathom: bench: --runs: expected 1 to 100000
? 2
$ fathom bench --format xml -- true
fathom: bench: --format: xml: expected text, json, csv or markdown
? 2

# The state of GPUs, by an NVML without a driver. Throttled in one file only, two are not comparable.
$ printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%s/test/fake/nvml\nexec fathom "$@"\n' "$(dirname "$(command -v fathom)")" > fake; chmod +x fake
$ ./fake bench -n 6 -w 0 -m 'ms ([0-9.]+)' -o cool.json -- sh -c 'sleep 0.01; echo ms 2.5' | sed -n 's/.*; \(GPU [0-9]\)/\1/p'
GPU 2 x Fake GPU; driver 999.12; GPU clocks up to 1980 MHz, 700 W; throttled none; other processes on GPUs none
$ FAKE_THROTTLED=0.5 FAKE_REASONS=0x44 ./fake bench -n 6 -w 0 -m 'ms ([0-9.]+)' -o hot.json -- sh -c 'sleep 0.01; echo ms 2.5' | sed -n 's/.*; throttled/throttled/p'
throttled power, heat; other processes on GPUs none
$ python3 -c 'import json; r = json.load(open("hot.json"))["runs"][0]; print(r["temperature_c"], r["throttled_ns"] > r["wall_ns"] / 2)'
43 True
$ fathom diff cool.json hot.json | grep 'Verdict\|DIFFERS'
Verdict: not comparable: conditions differ: throttle (--changed throttle if that was meant) (gate 2 %)
  DIFFERS throttle: none | yes, more than 1 % of the time

# What recording costs, of a program that uses a CUDA without a GPU.
$ ln -s "$(dirname "$(command -v fathom)")/test/fake/app" app
$ export FATHOM_CUPTI=$(dirname "$(command -v fathom)")/test/fake/libcupti.so; fathom bench -n 5 -w 0 --perturbation -- ./app init launch:7 sync | grep -c '^B: ./app init launch:7 sync, under fathom\|^Overhead of the profiler: '
2
$ fathom bench -n 1 -w 0 --perturbation -- true 2>&1 > /dev/null | cut -d, -f1
fathom: note: bench: nothing was recorded in B
$ fathom bench -n 1 -w 0 --perturbation --show-output -- sh -c 'echo ${LD_PRELOAD##*/}' 2>&1 > /dev/null | grep '^libfathom-collect'
libfathom-collect.so
