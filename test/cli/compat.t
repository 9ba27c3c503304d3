# Links by the names of Nsight Systems.
$ mkdir home; fathom compat home/bin > said; fathom compat home/bin | sed "s|$PWD|HERE|"; ls home/bin
home/bin: nsys and nsys-ui are this program; PATH=HERE/home/bin:$PATH finds them first
nsys
nsys-ui
$ touch file; fathom compat file
fathom: compat: file: not a folder
? 1
$ mkdir other; touch other/nsys; fathom compat other 2>&1 | sed 's|/.*/other|other|'; fathom compat -f other | cut -d: -f1
fathom: other/nsys: exists, and is no link to this program (-f replaces it)
other
$ fathom compat
fathom: compat: no folder given
? 2

# A script for nsys, as it is.
$ PATH=$PWD/home/bin:$PATH; export FATHOM_CUPTI=$(dirname "$(command -v fathom)")/test/fake/libcupti.so; nsys profile --trace=cuda,nvtx,osrt -s none --cpuctxsw=none --cudabacktrace=all --force-overwrite=true --flush-on-cudaprofilerstop=true -o report $(dirname "$(command -v fathom)")/test/fake/app init launch:23 sync | head -1 | cut -d, -f1
fathom: note: not recorded by this version: --trace=osrt, --cudabacktrace=all
report.fathom: 1 of 1 processes used a GPU; 23 kernels
$ PATH=$PWD/home/bin:$PATH; nsys stats --quiet --report cuda_gpu_kern_sum --format csv report.nsys-rep | cut -d, -f3
Instances
23

$ PATH=$PWD/home/bin:$PATH; nsys export --type=sqlite --output=out.sqlite report.nsys-rep; sqlite3 out.sqlite 'select count(*) from CUPTI_ACTIVITY_KIND_KERNEL' 2>/dev/null || python3 -c 'import sqlite3; print(sqlite3.connect("out.sqlite").execute("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0])'
...
23
$ PATH=$PWD/home/bin:$PATH; nsys --version; nsys sessions list | head -1; nsys status -e | head -1
fathom 0.1.0, by the command line of Nsight Systems 2026.4
      ID      TIME  STATE        PROGRAM  NAME
system
$ PATH=$PWD/home/bin:$PATH; nsys recipe x
fathom: recipe: a command of nsys that this version does not have
? 1
$ PATH=$PWD/home/bin:$PATH; nsys-ui report.nsys-rep
fathom: nsys-ui: this version has no viewer (fathom stats report.nsys-rep prints its tables, fathom info report.nsys-rep what is in it, fathom export report.nsys-rep makes an SQLite file for others)
? 1

# Options from a file; those of the command line count more, wherever it is named.
$ printf '# of every run\n-t cuda,osrt --output "my report"\n--quiet -f true # replaced\n' > options; fathom profile --command-file options -t nvtx true; ls *report.fathom
my report.fathom
report.fathom
$ fathom profile --command-file=options true; fathom profile -o mine --command-file=options -t none true; ls mine*
fathom: note: not recorded by this version: --trace=osrt
mine.fathom
$ printf 'true\n' > bad; fathom profile --command-file bad true
fathom: profile: bad: no option: true
? 2
$ printf -- '--qiet\n' > bad; fathom profile --command-file bad true
fathom: bad: profile: no option --qiet (did you mean --quiet?)
? 2
$ fathom profile --command-file nowhere true
fathom: profile: nowhere: No such file or directory
? 2

# How a recording was made is in the report.
$ fathom info --recording report.fathom | awk '/not recorded|window/ { sub(/^ *[0-9]* */, ""); print $1, $2, $3 ~ /=/ ? $3 : "" }'
not recorded trace=osrt
not recorded cudabacktrace=all
window 1
$ FATHOM_CUPTI=/nowhere fathom profile -q -o none $(dirname "$(command -v fathom)")/test/fake/app init launch:2 sync 2>/dev/null; fathom info --recording none.fathom | grep -o 'no kernels.*'
no kernels   /nowhere: cannot open shared object file: No such file or directory

# Children of a fork, and what they exec, or only the latter.
$ export FATHOM_CUPTI=$(dirname "$(command -v fathom)")/test/fake/libcupti.so; app=$(dirname "$(command -v fathom)")/test/fake/app; for forks in true false; do fathom profile -f true -o forks --trace-fork-before-exec $forks $app fork init launch:29 sync end spawn init launch:31 sync end init launch:23 sync | head -1 | cut -d' ' -f2-10; done
3 of 3 processes used a GPU; 83 kernels,
2 of 2 processes used a GPU; 54 kernels,
