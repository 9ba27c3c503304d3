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
