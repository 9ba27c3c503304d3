# fathom diff: conditions first, then the interval, then where the time went. The exit status is the verdict.
$ fathom diff test/data/torch/gpt_train.json.gz
fathom: diff: two sides are compared, old and new; 1 given
? 2

# A capture with itself.
$ fathom diff test/data/nsys/gpt_train.sqlite.gz test/data/nsys/gpt_train.sqlite.gz | grep Verdict
Verdict: unchanged: both sides are the same recording, row by row (gate 2 %)
$ fathom diff test/data/torch/sync_bound.json.gz test/data/torch/sync_bound.json.gz > /dev/null

# Different programs, whether the file tells its command or not.
$ fathom diff test/data/nsys/launch_bound.sqlite.gz test/data/nsys/cuda_graph.sqlite.gz | grep 'Verdict\|DIFFERS'
Verdict: not comparable: conditions differ: command,program (--changed command,program if that was meant) (gate 2 %)
  DIFFERS command: python3 patterns.py /tmp launch_bound | python3 patterns.py /tmp cuda_graph
  DIFFERS program: kernels of 2 names | kernels of 9 names; of the kernels 0 % by time and 0 % by number are the same
$ fathom diff test/data/torch/launch_bound.json.gz test/data/torch/cuda_graph.json.gz > /dev/null
? 5
$ fathom diff test/data/torch/sync_bound.json.gz test/data/nsys/sync_bound.sqlite.gz | grep -c 'DIFFERS profiler'
1

# What was declared does not block; one run a side proves nothing.
$ fathom diff --changed command,program test/data/nsys/launch_bound.sqlite.gz test/data/nsys/cuda_graph.sqlite.gz | grep 'Verdict\|separable'
Verdict: inconclusive: single run: steps of one run are not independent, so nothing tells how runs differ; 5 runs a side would, or --runs-are-steps if each step is a run (gate 2 %)
  2 fields were changed: their effects are not separable
$ fathom diff --changed command,program test/data/nsys/launch_bound.sqlite.gz test/data/nsys/cuda_graph.sqlite.gz > /dev/null
? 4

# Ranks of one run, by what the files tell: of one side they are one run, on two sides no comparison.
$ fathom diff test/data/ddp/balanced.rank0.json.gz,test/data/ddp/balanced.rank1.json.gz test/data/ddp/balanced.rank1.json.gz,test/data/ddp/balanced.rank0.json.gz | grep '^old\|^Verdict'
old: test/data/ddp/balanced.rank0.json.gz,test/data/ddp/balanced.rank1.json.gz, 1 run with 3 iterations that count
Verdict: unchanged: both sides are the same recording, row by row (gate 2 %)
old: median 33.345 ms, mean 33.652 ms, min 31.899 ms, max 35.710 ms
$ fathom diff test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | grep DIFFERS
  DIFFERS ranks: 0 | 1

# The second of these does 40 more matrix products on rank 1, hidden behind submission: no step got longer.
$ fathom diff test/data/ddp/balanced.rank0.json.gz,test/data/ddp/balanced.rank1.json.gz test/data/ddp/straggler.rank0.json.gz,test/data/ddp/straggler.rank1.json.gz | grep 'Verdict\|more a step'
Verdict: inconclusive: single run: steps of one run are not independent, so nothing tells how runs differ; 5 runs a side would, or --runs-are-steps if each step is a run (gate 2 %)
  rank 1: 40 more a step of nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT: +6.771 ms of device time
...

# The account adds up, on every device.
$ fathom diff --format json test/data/ddp/balanced.rank0.json.gz,test/data/ddp/balanced.rank1.json.gz test/data/ddp/straggler.rank0.json.gz,test/data/ddp/straggler.rank1.json.gz > d.json
? 4
$ python3 -c 'import json; d = json.load(open("d.json")); rows = lambda k: [r for r in d["account"] if r["rank"] == k]; [print(k, sum(r["difference_ns"] for r in rows(k)[:-1]) == rows(k)[-1]["difference_ns"], rows(k)[-1]["class"]) for k in (0, 1)]; print(d["format"], d["version"], d["verdict"]["outcome"], d["verdict"]["seed"])'
0 True total
1 True total
fathom diff 1 inconclusive 20190131

$ fathom diff --format csv --limit 1 --changed ranks test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | cut -d, -f1,4 | uniq
Table,Change
iteration,inconclusive
account,
kernel,same
op,same
range,same
category,same
$ fathom diff --format markdown --limit 1 --changed ranks test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | grep '^#' | tr '#' '='
= Comparison
== Iterations
== Conditions
== Where a device's mean step went; classes add up to the total
== Kernels and copies: time on devices, of a mean step (1 of 53)
== Ops: device time of what they launch, of a mean step (1 of 110)
== Ranges: time on the host, of a mean step (1 of 5)
== Categories: accumulated time of devices and of CUDA calls, of a mean step (1 of 10)

# Used wrongly.
$ fathom diff --changed comand a b
fathom: diff: --changed: comand: no such field (did you mean command?)
? 2
$ fathom diff --gate 0 a b
fathom: diff: --gate: 0: expected more than 0 % and less than 100 %
? 2
$ fathom diff --format xml a b
fathom: diff: --format: xml: expected text, json, csv or markdown
? 2
$ fathom diff --sort size a b
fathom: diff: --sort: size: expected difference, old, new, name or p
? 2
$ fathom diff no-such-file.json test/data/torch/sync_bound.json.gz
...
? 1
$ fathom diff test/data/torch/sync_bound.json.gz,, test/data/torch/sync_bound.json.gz
fathom: diff: test/data/torch/sync_bound.json.gz,,: a name of a file is missing at a comma
? 1
