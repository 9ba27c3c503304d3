# fathom stats prints what nsys stats printed of the same captures, byte for byte.

# Each report of each capture, in csv.
$ test/cli/same-as-nsys test/data/nsys/compute_bound.sqlite.gz test/data/nsys/compute_bound.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/cuda_graph.sqlite.gz test/data/nsys/cuda_graph.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/data_bound.sqlite.gz test/data/nsys/data_bound.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/gpt_train.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/kernels.sqlite.gz test/data/nsys/kernels.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/launch_bound.sqlite.gz test/data/nsys/launch_bound.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/pageable_copy.sqlite.gz test/data/nsys/pageable_copy.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/step.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/sync_bound.sqlite.gz test/data/nsys/sync_bound.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/unified_memory.sqlite.gz test/data/nsys/unified_memory.stats.csv.txt -f csv
same
$ test/cli/same-as-nsys test/data/ddp/nsys_balanced.sqlite.gz test/data/ddp/nsys_balanced.stats.csv.txt -f csv
same

# The default reports, as text.
$ test/cli/same-as-nsys test/data/nsys/kernels.sqlite.gz test/data/nsys/kernels.stats.txt
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/step.stats.txt
same
$ test/cli/same-as-nsys test/data/nsys/cuda_graph.sqlite.gz test/data/nsys/more/cuda_graph.default.txt
same

# Arguments of reports.
$ test/cli/same-as-nsys test/data/nsys/cuda_graph.sqlite.gz test/data/nsys/more/cuda_graph.args.txt -f csv
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.args.txt.gz -f csv
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.args.txt -f csv
same
$ test/cli/same-as-nsys test/data/ddp/nsys_balanced.sqlite.gz test/data/nsys/more/ddp_balanced.args.txt.gz -f csv
same

# Windows and units of time.
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.filter_nvtx_step.txt.gz -f csv --filter-nvtx step
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.filter_nvtx_step2.txt -f csv --filter-nvtx step/2
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.filter_time.txt -f csv --filter-time 5s/6s
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.msec.txt -f csv --timeunit msec
same
$ test/cli/same-as-nsys test/data/nsys/gpt_train.sqlite.gz test/data/nsys/more/gpt_train.usec.txt.gz -f csv --timeunit usec
same

# Formats.
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_column.txt -f column
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_table.txt -f table
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_tsv.txt -f tsv
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_json.txt -f json
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_hdoc.txt -f hdoc
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_column_nohdr.txt -f column:nohdr
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_csv_nohdr.txt -f csv:nohdr
same
$ test/cli/same-as-nsys test/data/nsys/step.sqlite.gz test/data/nsys/more/step.fmt_tsv_esc.txt -f tsv:esc
same
$ fathom stats -q -f csv -r cuda_gpu_kern_sum test/data/nsys/step.sqlite.gz | cmp - test/data/nsys/more/step.quiet.txt
