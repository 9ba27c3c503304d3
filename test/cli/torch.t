# torch_ops is the table that PyTorch's key_averages printed of the same run, byte for byte.
$ for n in sync_bound gpt_train cuda_graph pageable_copy data_bound compute_bound launch_bound; do fathom stats -q -r torch_ops:limit=60:name_width=120 test/data/torch/$n.json.gz | tail -n +4 | head -n -1 | cmp - test/data/torch/$n.table.txt && echo same; done | sort | uniq -c
      7 same

# Without -r a trace of the PyTorch Profiler is asked what it can answer.
$ fathom stats test/data/torch/sync_bound.json.gz | grep Processing
Processing [test/data/torch/sync_bound.json.gz] with [torch_ops]...
Processing [test/data/torch/sync_bound.json.gz] with [cuda_gpu_kern_sum]...
Processing [test/data/torch/sync_bound.json.gz] with [cuda_gpu_mem_time_sum]...
Processing [test/data/torch/sync_bound.json.gz] with [cuda_gpu_mem_size_sum]...
Processing [test/data/torch/sync_bound.json.gz] with [cuda_api_sum]...

# The ranks of one job, as two files and as the one that import makes of them.
$ fathom import -q test/data/ddp/balanced.rank1.json.gz test/data/ddp/balanced.rank0.json.gz -o job.fathom; fathom info --sources --format json job.fathom | python3 -c 'import json,sys; print([s["rank"] for s in json.load(sys.stdin)["sources"]])'
[1, 0]
$ fathom stats -q -r cuda_gpu_kern_sum -f csv job.fathom > a; fathom stats -q -r cuda_gpu_kern_sum -f csv test/data/ddp/balanced.rank0.json.gz test/data/ddp/balanced.rank1.json.gz | cmp - a

# Text that is no capture, and a capture that was cut.
$ gzip -dc test/data/torch/sync_bound.json.gz | head -c 100000 > cut.json; fathom stats -q -r cuda_gpu_kern_sum:base --limit 1 cut.json 2>&1 | grep -c '^fathom: note: '
1

# Values of arguments are looked at before a file is.
$ fathom stats -r torch_ops:sort=nothing no-such-file
fathom: report torch_ops: sort=nothing: no such key (self_cpu_time_total, device_time_total, cpu_memory_usage, count, none ...)
? 2
$ fathom stats -r torch_ops:limit=x no-such-file
fathom: report torch_ops: limit=x: not a number
? 2
$ fathom stats -r um_sum:rows= no-such-file
fathom: report um_sum: rows=: not a number
? 2
$ fathom stats -q -r torch_ops:limit=-1:sort=self_cuda_time_total -f csv:nohdr test/data/torch/sync_bound.json.gz > all; wc -l < all
26
