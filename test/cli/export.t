# What is written says the same as nsys's own export, column for column.
$ for n in kernels step cuda_graph data_bound gpt_train unified_memory; do fathom export -q -f true test/data/nsys/$n.sqlite.gz -o out.sqlite; test/cli/compare-exports test/data/nsys/$n.sqlite.gz out.sqlite | grep -v ^expected | sed 's/[0-9]* columns/N columns/'; done
N columns the same, 6 different as expected, 0 different
N columns the same, 6 different as expected, 0 different
N columns the same, 6 different as expected, 0 different
N columns the same, 6 different as expected, 0 different
N columns the same, 6 different as expected, 0 different
N columns the same, 6 different as expected, 0 different
$ fathom export -q test/data/ddp/nsys_balanced.sqlite.gz -o two.sqlite; test/cli/compare-exports test/data/ddp/nsys_balanced.sqlite.gz two.sqlite | tail -1
303 columns the same, 6 different as expected, 0 different

# Every report of the export, and of the .fathom file it went through, is that of the original.
$ fathom stats --help-reports | awk '/^  [a-z]/ { print $1 }' | sed 's/[:[(].*//' | paste -sd, > reports
$ for n in kernels cuda_graph sync_bound gpt_train unified_memory; do fathom import -q -f test/data/nsys/$n.sqlite.gz -o $n.fathom; fathom export -q -f true $n.fathom -o $n.sqlite; for f in test/data/nsys/$n.sqlite.gz $n.fathom $n.sqlite; do fathom stats -q -f csv -r $(cat reports) $f 2>&1 | sed "s|$f|FILE|" | cksum; done | uniq | wc -l; done
1
1
1
1
1
$ fathom stats -q -f csv -r $(cat reports) two.sqlite | sed 's|two.sqlite|FILE|' > ours; fathom stats -q -f csv -r $(cat reports) test/data/ddp/nsys_balanced.sqlite.gz | sed 's|test/data/ddp/nsys_balanced.sqlite.gz|FILE|' | cmp - ours

# A PyTorch trace as readers of Nsight Systems see it.
$ fathom export test/data/torch/compute_bound.json.gz -o torch.sqlite
fathom: note: not exported: 2 rows of mark; Nsight Systems has no table for them
fathom: note: not exported: 3 rows of gpu_annotation; Nsight Systems has no table for them
torch.sqlite
$ for r in cuda_gpu_kern_sum cuda_gpu_mem_time_sum cuda_gpu_mem_size_sum cuda_api_sum cuda_kern_exec_sum; do fathom stats -q -f csv -r $r test/data/torch/compute_bound.json.gz > a; fathom stats -q -f csv -r $r torch.sqlite > b; cmp a b; done

# Nothing is replaced unless told, the input never.
$ fathom export step.fathom
fathom: step.fathom: No such file or directory
? 1
$ fathom export kernels.fathom
fathom: kernels.sqlite: exists (-f true replaces it)
? 1
$ fathom export -f kernels.sqlite
fathom: kernels.sqlite: is the input (-o names another file)
? 2
$ ls | grep part
? 1

# Words of nsys that change nothing are taken, unknown ones are not.
$ fathom export -t sqlite --force-overwrite=true --include-json true kernels.fathom
fathom: note: export: --include-json changes nothing here
kernels.sqlite
$ fathom export -t arrow kernels.fathom
fathom: export: no type arrow (sqlite, csv, jsonlines)
? 2
$ fathom export --lasy kernels.fathom
fathom: export: no option --lasy (did you mean --lazy?)
? 2

# Tables of the store.
$ fathom export -t csv -o - --tables device kernels.fathom | cut -d, -f1-6
host,rank,ordinal,cuda_ordinal,name,uuid
vm,,0,0,NVIDIA H200,84ab8b38-911c-6f8b-2e46-221d9928d90d
$ fathom export -t csv -o - kernels.fathom 2>&1 | sed 's/[0-9][0-9]*/N/'
fathom: standard output: holds one table, and N were chosen (--tables names one)
$ fathom export -t csv kernels.fathom; wc -l < kernels_csv/kernel.csv
kernels_csv
15
$ fathom export -t jsonlines -o - --tables kernel kernels.fathom | python3 -c 'import json,sys; print(sum(r["end_ns"] - r["start_ns"] for r in map(json.loads, sys.stdin)))' > a; fathom export -t csv -o - --tables kernel kernels.fathom | awk -F, 'NR > 1 { t += $2 - $1 } END { printf "%d\n", t }' | cmp - a

# A part of the time: two kernels lie in it, and one crosses its end.
$ for times in 650ms/652ms 650ms/652ms:; do fathom export -q -f true -o part.sqlite --times $times --tables CUPTI_ACTIVITY_KIND_KERNEL kernels.fathom; fathom stats -q -f csv:nohdr -r cuda_gpu_kern_sum part.sqlite | grep -c .; done
2
3
