# A damaged .fathom file: what is left is used, and every loss is told on stderr.
$ fathom import -q test/data/nsys/kernels.sqlite.gz -o whole.fathom

# The contents are lost, and so is a column: it is lost, not absent, and nobody knows of other tables.
$ test/cli/break-file whole.fathom a.fathom index contents api.correlation; fathom info --losses a.fathom 2>&1
fathom: note: a.fathom: trailer: not there; recovered by scan: 164 of 165 chunks
a.fathom: 3 losses, 22 tables damaged; 801 rows from 1376 read; 605.593 ms from the first event to the last

Losses
 Source       Place         Kind     Amount                            Detail
 ------  ---------------  ---------  ------  ----------------------------------------------------------
         index            recovered       1  trailer: not there; recovered by scan: 164 of 165 chunks
         api.correlation  lost           50  not found
         contents         lost           22  nobody knows whether tables that were not found were there

# With the contents, only what they name is lost; each command says so.
$ test/cli/break-file whole.fathom b.fathom index api.correlation kernel.start_ns
$ for c in "stats -q -r cuda_api_sum,cuda_gpu_kern_sum" "import -f -o c.fathom" "export -q -t jsonlines -f true -o c.jsonl"; do fathom $c b.fathom 2>&1 > out.txt | cut -c1-100; done
fathom: note: b.fathom: index: 2 recovered, trailer: not there; recovered by scan: 163 of 165 chunks
fathom: note: b.fathom: kernel: 14 lost, column start_ns: not found
fathom: note: b.fathom: api.correlation: 50 lost, not found
fathom: note: cuda_gpu_kern_sum: report cuda_gpu_kern_sum: b.fathom: kernel: column start_ns: not fo
fathom: note: b.fathom: index: 2 recovered, trailer: not there; recovered by scan: 163 of 165 chunks
fathom: note: b.fathom: kernel: 14 lost, column start_ns: not found
fathom: note: b.fathom: api.correlation: 50 lost, not found
fathom: note: b.fathom: index: 2 recovered, trailer: not there; recovered by scan: 163 of 165 chunks
fathom: note: b.fathom: kernel: 14 lost, column start_ns: not found
fathom: note: b.fathom: api.correlation: 50 lost, not found
$ fathom stats -q -r cuda_api_sum,cuda_gpu_kern_sum b.fathom > /dev/null 2>&1
$ fathom stats -q -r cuda_gpu_kern_sum b.fathom > /dev/null 2>&1
? 1

# A damaged payload: the other columns of its table are exported.
$ test/cli/break-file whole.fathom d.fathom =api.correlation; fathom export -q -t jsonlines -f true -o - d.fathom 2> err.txt | grep -c '^{"table":"api".*"correlation":null'; cut -c1-40 err.txt
50
fathom: note: d.fathom: api.correlation:

# Nothing is left: one line, and status 1.
$ head -c 1000 whole.fathom > e.fathom; for c in info stats "import -f -o c.fathom" "export -t jsonlines -f true -o c.jsonl"; do fathom $c e.fathom; echo $?; done 2>&1
fathom: e.fathom: trailer: not there; no table can be found by a scan
1
fathom: e.fathom: trailer: not there; no table can be found by a scan
1
fathom: e.fathom: trailer: not there; no table can be found by a scan
1
fathom: e.fathom: trailer: not there; no table can be found by a scan
1
