# One line of what was written; the same tables from the new file.
$ fathom import test/data/nsys/step.sqlite.gz | sed 's/[0-9][0-9]*/N/g'
step.fathom: N rows in N tables, N bytes; nothing lost
$ fathom stats -q test/data/nsys/step.sqlite.gz > from-sqlite; fathom stats -q step.fathom > from-fathom; sed 's/test.data.nsys.step.sqlite.gz/FILE/' from-sqlite > a; sed 's/step.fathom/FILE/' from-fathom > b; cmp a b

# A file that is there is replaced only when asked for.
$ fathom import test/data/nsys/step.sqlite.gz
fathom: step.fathom: exists (-f replaces it)
? 1
$ fathom import -f -q test/data/nsys/step.sqlite.gz

# Compressed, it is smaller and says the same.
$ fathom import -q --compress test/data/nsys/step.sqlite.gz -o small.fathom; fathom stats -q small.fathom | sed 's/small.fathom/FILE/' | cmp - a
$ test $(wc -c < small.fathom) -lt $(wc -c < step.fathom)

# A file that was cut is a short file: what is left is read, and the rest told.
$ head -c 100000 step.fathom > cut.fathom; fathom info cut.fathom 2>&1 | head -1 | grep -c whole
0
? 1

# A file that is named twice would count twice; so would two forms of one recording in a folder.
$ fathom stats -r nvtx_sum step.fathom ./step.fathom 2>&1 | sed 's/.*step/step/'
step.fathom: named twice
$ mkdir forms; cp test/data/nsys/step.sqlite.gz forms; fathom import -q forms/step.sqlite.gz -o forms/step.fathom; gzip -dc forms/step.sqlite.gz > forms/step.sqlite; fathom stats -q -r nvtx_sum -f csv:nohdr --limit 1 forms | cut -d, -f3
1
$ fathom info forms 2>&1 | grep -c 'left out: forms/step.fathom beside it is the same recording (and 1 more such files)'
1

# Ranks as they are told, one for each file; also in place of a file's own.
$ fathom import -q --rank 4,2 step.fathom test/data/nsys/step.sqlite.gz -o two.fathom; fathom info --format json --sources two.fathom | grep -o '"rank": [0-9]*'
"rank": 4
"rank": 2
$ fathom import -q --rank 7 test/data/ddp/balanced.rank0.json.gz -o seven.fathom; fathom info --format json --processes seven.fathom | grep -o '"rank": [0-9]*'
"rank": 7
$ fathom info --format json --processes --rank 3 seven.fathom 2>&1 | grep -o '"rank": [0-9]*'
"rank": 3
$ fathom stats --rank 1 step.fathom two.fathom
fathom: stats: --rank: 1 rank for 2 files
? 2
$ fathom stats --rank x step.fathom
fathom: stats: --rank: x is no number from 0 on
? 2

# A report of nsys itself is read by way of an nsys, when none of its exports lies beside it.
$ printf 'NVIDIA Tegra Profiler Report' > alone.nsys-rep; printf '#!/bin/sh\ncp forms/step.sqlite "$5"\n' > nsys; chmod +x nsys
$ FATHOM_NSYS=./no-such-nsys fathom stats -q alone.nsys-rep
fathom: alone.nsys-rep: needs an export (./no-such-nsys: could not be started): nsys export --type sqlite alone.nsys-rep
? 1
$ FATHOM_NSYS=./nsys fathom stats -r nvtx_sum -f csv:nohdr --limit 1 alone.nsys-rep | cut -d, -f3
fathom: note: alone.nsys-rep: exporting with ./nsys
Processing [alone.nsys-rep] with [nvtx_sum]...
1

# From a pipe, too.
$ cat test/data/nsys/step.sqlite.gz | fathom stats -q -r nvtx_sum -f csv:nohdr --limit 1 - | cut -d, -f3
1
$ cat test/data/torch/sync_bound.json.gz | fathom info --tables /dev/stdin | head -n 1 | cut -c1-17
/dev/stdin: whole

# What a file says cannot break a line of ours: here the name of a table with a line's end.
$ python3 -c "d = open('forms/step.sqlite', 'rb').read(); i = d.index(b'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL'); open('bad.sqlite', 'wb').write(d[:i + 45] + b'\x60' + d[i + 46:])"; fathom info bad.sqlite 2>&1 > /dev/null | grep -vc '^fathom: '
0
? 1
