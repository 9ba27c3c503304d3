# A capture of Nsight Systems is whole, and its books balance.
$ fathom info test/data/nsys/kernels.sqlite.gz | head -1
...
$ fathom info --format json test/data/nsys/kernels.sqlite.gz | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["whole"], d["n_unbalanced"], [x["name"] for x in d["devices"]])'
True 0 ['NVIDIA H200']
$ for f in test/data/nsys/*.sqlite.gz test/data/ddp/nsys*.gz test/data/torch/*.json.gz; do fathom info --format json $f | python3 -c 'import json,sys; d=json.load(sys.stdin); print(all(c["n_read"] == c["n_kept"] + c["n_used"] + c["n_lost"] + c["n_unknown"] for c in d["coverage"]), d["n_lost"])'; done | sort | uniq -c
     19 True 0

# A part alone.
$ fathom info --devices test/data/nsys/kernels.sqlite.gz | tail -n +3
Devices
 Device  Host  Rank     Name      SMs  Memory (MB)  Compute      Bus
 ------  ----  ----  -----------  ---  -----------  -------  ------------
      0  vm          NVIDIA H200  132  150,109.880  9.0      0000:00:06.0
$ fathom info --losses test/data/nsys/kernels.sqlite.gz | tail -n +3
Losses
 none

# What does not fit together. The orphans are kernels of a graph that was launched before the trace began.
$ fathom info --format json --health test/data/torch/cuda_graph.json.gz | python3 -c 'import json,sys; d=json.load(sys.stdin); print([(x["check"], x["count"], x["of"]) for x in d["health"] if x["count"]])'
[('orphans', 76, 205)]
$ fathom info --format json --health test/data/nsys/gpt_train.sqlite.gz | python3 -c 'import json,sys; d=json.load(sys.stdin); print([(x["check"], x["count"], x["of"]) for x in d["health"] if x["count"]])'
[('overhead, ns', 6124973, 141535153), ('launches with a name', 448, 1152), ('threads with OS calls', 2, 2), ('threads with samples', 2, 2)]
$ fathom info test/data/torch/sync_bound.json.gz | sed -n '/^Health/,$p' | grep -c orphans
0
? 1
