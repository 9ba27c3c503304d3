# Reports, formats and outputs are three lists; the last word of a shorter one repeats.
$ fathom stats -q -r cuda_api_sum -r cuda_gpu_kern_sum:base -f csv,json -o out test/data/nsys/step.sqlite.gz; ls out*
out_cuda_api_sum.csv
out_cuda_gpu_kern_sum_base.json
$ fathom stats -r cuda_api_sum,nvtx_sum -o api,- -f csv test/data/nsys/step.sqlite.gz | grep Processing
Processing [test/data/nsys/step.sqlite.gz] with [cuda_api_sum] to [api_cuda_api_sum.csv]...
Processing [test/data/nsys/step.sqlite.gz] with [nvtx_sum]...

# A file that is there is replaced only when asked for.
$ fathom stats -q -r cuda_api_sum -o out test/data/nsys/step.sqlite.gz 2>&1 | grep -c exists
1
$ fathom stats -q -r cuda_api_sum -o out test/data/nsys/step.sqlite.gz > /dev/null 2>&1
? 1
$ fathom stats -q -r cuda_api_sum -o out --force-overwrite true test/data/nsys/step.sqlite.gz

# To a command; beside the capture.
$ fathom stats -q -r nvtx_sum -o '@wc -l' test/data/nsys/step.sqlite.gz
5
$ cp test/data/nsys/step.sqlite.gz here.sqlite.gz; fathom stats -q -r nvtx_sum -o . here.sqlite.gz; ls here*
here.sqlite.gz
here_nvtx_sum.csv

# Fewer rows.
$ fathom stats -q -r cuda_gpu_kern_sum:base --limit 1 -f csv test/data/nsys/step.sqlite.gz | wc -l
3

# Options of nsys that change nothing here are taken, and told.
$ fathom stats --force-export=true -q -r osrt_sum test/data/nsys/step.sqlite.gz
fathom: note: stats: --force-export changes nothing here
SKIPPED: test/data/nsys/step.sqlite.gz does not contain OS Runtime trace data.

# What is not known is refused before a file is opened.
$ fathom stats -r cuda_gpu_kern_sum:bse no-such-file
...
? 2
$ fathom stats -q --filter-time nonsense -r nvtx_sum test/data/nsys/step.sqlite.gz > /dev/null 2>&1
? 2

# Steps by their numbers; what the window holds is what step_sum says of them.
$ fathom stats -q -r step_sum -f csv test/data/torch/gpt_train.json.gz | sed -n '/ProfilerStep/s/^[^,]*,\([^,]*\),.*/\1/p' | head -n 1
ProfilerStep#3
$ fathom stats -r cuda_gpu_kern_sum:base -f csv --filter-step 99 test/data/torch/gpt_train.json.gz
...
? 1
$ fathom stats -r cuda_gpu_kern_sum:base -f csv --filter-step x no-such-file
...
? 2

# A column is named as it is printed, too.
$ fathom stats -q -r cuda_gpu_kern_sum:base -f csv:nohdr --limit 1 --sort 'total time (ns)' test/data/nsys/gpt_train.sqlite.gz | cut -d, -f3
64

# A command that does not read is told, and ends nothing else.
$ fathom stats -q -r cuda_api_sum -o @false test/data/nsys/step.sqlite.gz 2>&1 | grep -c 'did not end well'
1

# On a terminal the reports without data that nobody asked for are one line.
$ script -qc 'stty cols 100; fathom stats test/data/nsys/step.sqlite.gz' /dev/null | grep -c 'SKIPPED\|^Without data: .*openacc_sum'
1
$ script -qc 'stty cols 100; fathom stats -r openacc_sum test/data/nsys/step.sqlite.gz' /dev/null | grep -c SKIPPED
1
