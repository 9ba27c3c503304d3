# Used wrongly: status 2, what was found, and the nearest word.
$ fathom
fathom: no command given (try fathom help)
? 2

$ fathom sats
fathom: sats: no such command (did you mean stats?)
? 2

$ fathom stats --reprot cuda_gpu_kern_sum
fathom: stats: no option --reprot (did you mean --report?)
? 2

$ fathom stats
fathom: stats: no file given
? 2

$ fathom stats -r cuda_gpu_kern_sun x.sqlite
fathom: stats: cuda_gpu_kern_sun: no such report (did you mean cuda_gpu_kern_sum?)
? 2

$ fathom stats -f cvs x.sqlite -r cuda_gpu_kern_sum
fathom: stats: cvs: no such format (did you mean csv?)
? 2

$ fathom stats --limit=-1 x.sqlite
fathom: stats: --limit: -1 is no number from 0 on
? 2

$ fathom info --format xml x.sqlite
fathom: info: xml: no such format, only text and json
? 2

$ fathom help --completion fish
fathom: help: fish: no completion for it, only for bash and zsh
? 2

# Not there, or not a capture: status 1.
$ fathom info no-such-file
fathom: no-such-file: No such file or directory
? 1

$ echo "some text" > text.txt; fathom stats text.txt
...
? 1

# Asked for help.
$ fathom --version
fathom 0.1.0

$ fathom help | head -3
fathom - a GPU profiler that says why

usage: fathom COMMAND [options] FILE...

$ fathom import --help
fathom import - any supported files into one .fathom file
...
      two ranks of one job in one file

$ fathom help --completion bash | bash -n
$ fathom help --man stats | head -3
.TH FATHOM-STATS 1 "" "fathom 0.1.0"
.SH NAME
fathom\-stats \- tables from any file
