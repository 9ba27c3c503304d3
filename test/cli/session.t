# A program that other shells record. It works when it is told to, so nothing depends on speed.
$ . test/cli/session/words; fathom start; fathom stop; fathom sessions --no-heading
fathom: start: no session (fathom launch PROGRAM begins one)
fathom: stop: no session (fathom launch PROGRAM begins one)
$ . test/cli/session/words; begin launch --session-new web test/cli/session/server; until_listed web; states
waiting web
$ . test/cli/session/words; work 23; fathom start -q -o one; work 29; fathom start -o two; states; fathom stop -q; work 31; states
fathom: web: is recording (fathom stop ends that)
recording web
stopped web
$ . test/cli/session/words; fathom stop
fathom: web: is not recording (fathom start begins that)
? 1
$ . test/cli/session/words; fathom start -o one
fathom: one.fathom: exists (-f true replaces it)
? 1
$ . test/cli/session/words; kernels one.fathom
29

# Further recordings make further reports, of what began since their start.
$ . test/cli/session/words; fathom start -q --session web; work 23; fathom stop -q --session web; kernels report1.fathom
23
$ . test/cli/session/words; fathom start --session wab
fathom: start: wab: no such session; there are: web
? 1

# A recording that goes on when the program is over makes its report then.
$ . test/cli/session/words; fathom start -q -o last; work 31; finish; kernels last.fathom; states; ls -d fathom-??????
status 3
31
ls: cannot access 'fathom-??????': No such file or directory
? 2

# Shut down: nothing is written. Left alone: the program runs on.
$ . test/cli/session/words; begin launch --session-new web test/cli/session/server; until_listed web; fathom start -q -o none; fathom shutdown; finish; ls none.fathom
status 143
ls: cannot access 'none.fathom': No such file or directory
? 2
$ . test/cli/session/words; begin launch --session-new web sleep 1; until_listed web; fathom shutdown --kill none; finish
status 0

# Two sessions need a name; a name belongs to one.
$ . test/cli/session/words; begin launch --session-new a sleep 30; begin launch --session-new b sleep 30; until_listed ' a$'; until_listed ' b$'; fathom launch --session-new b true; fathom stop; fathom shutdown --session a; fathom shutdown --session b
fathom: b: there is a session of that name (fathom sessions)
fathom: stop: 2 sessions, --session NAME chooses: a, b
$ fathom launch --session-new a/b true
fathom: a/b: not a name for a session (up to 127 letters, no /)
? 1

# A session whose launcher was killed is forgotten.
$ . test/cli/session/words; fathom launch --session-new k sleep 2 & p=$!; . test/cli/session/words; until_listed ' k$'; kill -9 $p; states; ls fathom-$(id -u)

# A folder that others may enter is not trusted.
$ . test/cli/session/words; chmod 755 fathom-$(id -u); fathom launch true 2>&1 | sed 's/.*fathom-[0-9]*: //'; chmod 700 fathom-$(id -u)
not a folder that only this user may enter (remove it)

# profile is a session as well: stop writes its report, and the program runs on.
$ . test/cli/session/words; begin profile -q -o p --session-new p test/cli/session/server; until_listed ' p$'; work 23; fathom stop -q; work 29; finish; kernels p.fathom
status 3
23
$ . test/cli/session/words; begin profile -q -Y -o later test/cli/session/server; until_listed waiting; work 23; fathom start -q; work 29; finish; kernels later.fathom
status 3
29
$ . test/cli/session/words; fathom profile -Y -o never true
fathom: note: no recording goes on at the end, so this is no report of its own

# While it records, the spool is a file as any other.
$ . test/cli/session/words; begin profile -q -o whole test/cli/session/server; until_listed recording; work 23; kernels $(ls -td fathom-?????? | head -1); finish; kernels whole.fathom
23
status 3
23

# Damaged facts are counted, and the others kept.
$ . test/cli/session/words; begin profile -q -o whole -f test/cli/session/server; until_listed recording; s=$(ls -td fathom-?????? | head -1); printf 'junk\n\tno\tscope\n\nprofile\tlast words\twithout an end of line' >> $s/facts; fathom info --losses $s | grep -c 'facts.*damaged.*without scope'; fathom info --recording $s | grep -o 'last words.*line'; fathom info --coverage $s | awk '$1 == "fact" { print $3, $4, $6 }'; finish
1
last words   without an end of line
5 3 2
status 3

# A recording by a range of the program, and one that goes on without it.
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom profile -q -c cudaProfilerApi --capture-range-end stop -o range $app init launch:23 profile:1 launch:29 sync profile:0 launch:31 sync; kernels range.fathom
29
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom profile -q -x false -d 1 --kill none -o stays $app init launch:23 sync; kernels stays.fathom
23
