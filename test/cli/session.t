# A program that other shells record. It works when it is told to, so nothing depends on speed.
$ . test/cli/session/words; fathom stop; fathom cancel; fathom start --session web; fathom sessions list -p false
fathom: stop: no session (fathom launch PROGRAM begins one)
fathom: cancel: no session (fathom launch PROGRAM begins one)
fathom: start: web: no such session
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

# Started first: the session waits, and the program that is launched then is recorded from its beginning.
$ . test/cli/session/words; rm -rf fathom-??????; fathom start -q -o early; named_states; fathom start 2>&1 | unnumbered; fathom stop 2>&1 | unnumbered
early start-N
fathom: start-N: records as soon as a program is launched (fathom cancel gives that up)
fathom: start-N: no program was launched, so there is nothing to write (fathom launch PROGRAM, or fathom cancel)
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom launch -q $app init launch:23 sync; kernels early.fathom; states; ls -d fathom-??????
23
ls: cannot access 'fathom-??????': No such file or directory
? 2
$ . test/cli/session/words; fathom start -q --session-new s -o part; begin launch -q --session s test/cli/session/server; until_listed recording; work 23; fathom status --session s | sed "s|$PWD/||; s/[0-9][0-9]*$/N/; s/fathom-......$/fathom-N/"; fathom stop -q --session s; work 29; states; finish; kernels part.fathom
session
  name                           s
  state                          recording
  launcher                       N
  program                        N
  spool                          fathom-N
  report                         part.fathom
stopped s
status 3
23

# The range may be told by either; the name of the report by the program's number.
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom start -q -c cudaProfilerApi --capture-range-end stop -o api; fathom launch -q $app init launch:23 sync profile:1 launch:29 sync profile:0 launch:31 sync; kernels api.fathom
29
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom start -q --session-new n -c nvtx --capture-range-end stop -o nvtx; fathom launch true; fathom launch -q -p step $app init launch:23 sync push:step launch:31 sync pop launch:29 sync; kernels nvtx.fathom
fathom: launch: n records an NVTX range: --nvtx-capture RANGE[@DOMAIN] names it
31
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; begin launch -q -p step sh -c "while [ ! -e go ]; do sleep 0.02; done; $app init launch:23 sync push:step launch:31 sync pop"; until_listed waiting; fathom start -q -c nvtx --capture-range-end stop -o later-nvtx; touch go; finish; kernels later-nvtx.fathom
status 0
31
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom start -o run-%p 2>&1 | unnumbered | sed "s|$PWD/||"; fathom launch -q sh -c "echo \$\$ > pid; exec $app init launch:23 sync"; kernels run-$(cat pid).fathom
fathom: note: start-N: the next fathom launch is recorded to run-%p.fathom (fathom stop writes it)
23
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; fathom start -q -t nvtx -o ranges; fathom launch -q $app init push:step launch:23 sync pop; kernels ranges.fathom; fathom stats -q -r nvtx_sum -f csv ranges.fathom | cut -d, -f3,9- | sed '1d;/^$/d'
1,PushPop,:step

# What could not be launched leaves the session as it was; cancel and shutdown end it.
$ . test/cli/session/words; fathom start -q -o again; fathom launch ./nothing; named_states; fathom cancel 2>&1 | unnumbered; states; ls -d fathom-??????
fathom: ./nothing: No such file or directory
early start-N
fathom: note: start-N: the recording is given up, and with it the session: no program was launched
ls: cannot access 'fathom-??????': No such file or directory
? 2
$ . test/cli/session/words; fathom start -q --session-new a -o again; fathom start -q --session-new b -o again; fathom start -q --session-new a; fathom launch true; fathom shutdown --session a; fathom cancel -q --session b; states
fathom: a: there is a session of that name (fathom sessions)
fathom: launch: 2 sessions wait for a program, --session NAME chooses (--session-new NAME makes another): a, b
$ . test/cli/session/words; fathom start -q -o again; rm -r fathom-??????; states

# A recording that is given up while the program runs on; names by variables, sessions by numbers.
$ . test/cli/session/words; export JOB=7; begin launch --session-new 'job%q{JOB}' test/cli/session/server; until_listed job7; fathom launch --session job7 true; fathom start -q -o gone; work 23; fathom cancel -q --session $(fathom sessions --no-heading | awk '{ print $1 }'); states; fathom cancel; fathom start -q --session 'job%q{JOB}' -o kept; work 29; finish; kernels kept.fathom; ls gone.fathom
fathom: launch: job7: has a program already (--session-new NAME makes another session)
stopped job7
fathom: job7: is not recording (fathom start begins that)
status 3
29
ls: cannot access 'gone.fathom': No such file or directory
? 2
$ . test/cli/session/words; begin profile -q -o short test/cli/session/server; until_listed recording; work 23; fathom stop -q --session=$(fathom sessions list | grep -o 'profile-[0-9]*'); finish; kernels short.fathom
status 3
23
$ . test/cli/session/words; fathom start --session-new '%q{NOT_THERE}'; fathom launch --session-new '%n' true; fathom start --session a --session-new b
fathom: start: session: %q{NOT_THERE}: no such variable
fathom: launch: session: %n: no free number for a session
fathom: start: --session and --session-new exclude each other
? 2

# Shut down while a recording outlives its program: nothing is written.
$ . test/cli/session/words; rm -f over; begin profile -q -x false -o outlived sh -c 'touch over'; until_there over; sleep 0.2; fathom shutdown; finish; cat said; ls outlived.fathom
status 0
fathom: note: shut down: no report
ls: cannot access 'outlived.fathom': No such file or directory
? 2

# A recording from the beginning on that outlives its program goes on until it is stopped.
$ . test/cli/session/words; app=$(dirname "$(command -v fathom)")/test/fake/app; rm -f over; fathom start -q -x false -o from-the-start; begin launch -q sh -c "$app init launch:23 sync; touch over"; until_there over; sleep 0.2; states | unnumbered; fathom stop -q; finish; kernels from-the-start.fathom
recording start-N
status 0
23
