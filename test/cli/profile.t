# fathom profile, of a program that uses a CUDA without a GPU (test/fake).
# `record` is it with that CUDA's CUPTI, and prints what was recorded, without times.
$ built=$(dirname "$(command -v fathom)"); ln -s "$built/test/fake/app" app
$ printf '#!/bin/sh\nexport FATHOM_CUPTI=%s/test/fake/libcupti.so\nfathom profile -o r -f true "$@" > out 2> err\nstatus=$?\nsed -n "s/.*fathom: \\(.* events\\) in .*/\\1/p" out\nexit $status\n' "$(dirname "$(command -v fathom)")" > record; chmod +x record

# The program's output and status are its own.
$ ./record ./app init threads:23:1 sync print:hello complain:oh exit:3; echo $?; head -1 out; head -1 err
1 of 1 processes used a GPU; 23 kernels, 0 copies, 0 sets, 71 CUDA calls, 0 NVTX events
3
hello
oh

# A report that could not be written is told before the program runs.
$ fathom profile -o nowhere/report ./app print:hello
fathom: nowhere: no report can be written there: No such file or directory
? 1

# Every launch has its own name, once.
$ fathom stats -q -f csv -r cuda_gpu_kern_sum:mangled r.fathom | grep _Z | cut -d, -f3,9 | sort -V | sed -n '1p;2p;23p;24p'
1,_Z7kernel0v
1,_Z7kernel1v
1,_Z8kernel22v

# A graph of 1,009 nodes, 11 times; copies and sets.
$ ./record ./app init graph:1009:11 copy:4096 copy:4096:2 peer:777 set:64 sync
1 of 1 processes used a GPU; 11099 kernels, 3 copies, 1 sets, 1031 CUDA calls, 0 NVTX events

$ ./record --cuda-graph-trace=graph ./app init graph:1009:11 launch:2 sync; fathom stats -q -f csv -r cuda_gpu_kern_sum r.fathom | tail -n +2 | grep -c kernel
1 of 1 processes used a GPU; 2 kernels, 0 copies, 0 sets, 1029 CUDA calls, 0 NVTX events
1

# Four processes, also those of fork, vfork and spawn.
$ ./record ./app fork init launch:7 sync end vfork init launch:11 sync end spawn init launch:13 sync end init launch:17 sync
4 of 4 processes used a GPU; 48 kernels, 0 copies, 0 sets, 56 CUDA calls, 0 NVTX events

# A program that dies has a report; what the GPU had not finished is said.
$ ./record ./app init launch:4999 sync push:open mark:last kill; fathom info --format json r.fathom > /dev/null; echo $?
1 of 1 processes used a GPU; 4999 kernels, 0 copies, 0 sets, 5001 CUDA calls, 2 NVTX events
0

$ ./record ./app init launch:4999 sync push:open mark:last kill > /dev/null; echo $?
137

$ ./record ./app init launch:101 sync abort > /dev/null; echo $?
134

$ ./record ./app init launch:101 sync _exit:9; echo $?
1 of 1 processes used a GPU; 101 kernels, 0 copies, 0 sets, 103 CUDA calls, 0 NVTX events
9

# Windows: by cudaProfilerStart and Stop, by an NVTX range, by the clock.
$ ./record -c cudaProfilerApi --capture-range-end=stop ./app init launch:3 sync profile:1 launch:23 sync profile:0 launch:5 sync exit:4; echo $?
1 of 1 processes used a GPU; 23 kernels, 0 copies, 0 sets, 25 CUDA calls, 0 NVTX events
4

$ ./record -c cudaProfilerApi --capture-range-end=repeat:2 ./app init profile:1 launch:3 sync profile:0 launch:100 sync profile:1 launch:5 sync profile:0 profile:1 launch:7 sync profile:0 | cut -d, -f1
1 of 1 processes used a GPU; 8 kernels

$ ./record -c nvtx -p step@loop --capture-range-end=stop ./app init push:step launch:3 sync pop push:step@loop launch:5 sync pop:@loop launch:7 sync | cut -d, -f1
1 of 1 processes used a GPU; 5 kernels

$ ./record -c nvtx -p step --range-id=2-3 --capture-range-end=stop ./app init push:step launch:1 sync pop push:step launch:3 sync pop push:step launch:5 sync pop push:step launch:9 sync pop | cut -d, -f1
1 of 1 processes used a GPU; 8 kernels

$ ./record -y 0.5 ./app init launch:3 sync sleep:1500 launch:5 sync | cut -d, -f1
1 of 1 processes used a GPU; 5 kernels

$ ./record -d 0.5 --kill=none ./app init launch:3 sync sleep:1500 launch:5 sync exit:6 | cut -d, -f1
1 of 1 processes used a GPU; 3 kernels

$ ./record -d 0.5 --kill=sigkill ./app init launch:3 sync sleep:60000; echo $?
1 of 1 processes used a GPU; 3 kernels, 0 copies, 0 sets, 5 CUDA calls, 0 NVTX events
137

# The end of the window is the end of the program, when not said otherwise.
$ ./record -c cudaProfilerApi ./app init profile:1 launch:23 sync profile:0 sleep:60000; echo $?; grep -o 'ended by signal.*' err
1 of 1 processes used a GPU; 23 kernels, 0 copies, 0 sets, 25 CUDA calls, 0 NVTX events
143
ended by signal 15 when the range closes (--capture-range-end stop lets it run on)

# Who has CUPTI is named; NVTX is recorded all the same.
$ FAKE_CUPTI_FAIL=Subscribe:39 ./record ./app init mark:m launch:23 sync; grep -c 'another profiler is attached' err
0 of 1 processes used a GPU; 0 kernels, 0 copies, 0 sets, 0 CUDA calls, 1 NVTX events
1

# Little room: less is recorded, and that is said; the program does not notice.
$ ./record --spool-limit 4 ./app init threads:4:100:60000 sync print:done > /dev/null; echo $?; head -1 out; grep -c 'no_room\|no room' err
0
done
1

# A ring of the last second.
$ ./record --keep 1 --spool-limit 256 ./app threads:3:0:1000000 print:done > /dev/null; echo $?; head -1 out
0
done

# Nothing to record.
$ ./record ./app print:quiet exit:5; echo $?; head -1 out
...
5
quiet

# The collector is preloaded, so that it hears of a profiler of the program's own: who took CUPTI, or was refused it.
$ export APP_CUPTI=$built/test/fake/libcupti.so
$ ./record ./app init launch:5 sync profiler launch:3 sync | cut -d, -f1; grep -c 'a profiler in app took CUPTI: nothing of devices is recorded after that' err; fathom info --losses r.fathom | grep -c 'took CUPTI'
1 of 1 processes used a GPU; 5 kernels
1
1
$ ./record --own-cupti ./app init launch:5 sync profiler launch:3 sync | cut -d, -f1; grep 'was refused' out; fathom info --recording r.fathom | grep -o 'message .*'
1 of 1 processes used a GPU; 8 kernels
said while recording: a profiler in app was refused CUPTI: it shows no device activity
message                     a profiler in app was refused CUPTI: it shows no device activity

# What is preloaded is not seen: the program's own preloads stay, however many; libasan need not come first.
$ export many=$(printf 'no-such-library-%0300d.so:' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16); LD_PRELOAD=$many fathom profile -q -o r -f true sh -c 'echo ${#LD_PRELOAD} > long' 2> /dev/null; echo $(($(cat long) > ${#many}))
1
$ ASAN_OPTIONS= fathom profile -q -o r -f true sh -c 'echo ${LD_PRELOAD##*/} $ASAN_OPTIONS'
libfathom-collect.so verify_asan_link_order=0
$ ASAN_OPTIONS=verify_asan_link_order=1 fathom profile -q -o r -f true sh -c 'echo $ASAN_OPTIONS'
verify_asan_link_order=0:verify_asan_link_order=1
$ fathom profile -q -t nvtx -o r -f true sh -c 'echo ${LD_PRELOAD:-none}'
none
$ fathom profile -q -o r -f true env -i sh -c 'echo ${LD_PRELOAD:-none}; exit 7'
none
? 7

# What cannot be printed changes no program's status.
$ app=$(dirname "$(command -v fathom)")/test/fake/app; fathom profile -o unheard $app exit:6 > /dev/full
fathom: standard output: could not be written
? 6
