# Every line has a name, and what is off says why; off is no failure.
$ fathom status --all --format json > status.json; python3 -c 'import json; d=json.load(open("status.json")); print(sorted({x["group"] for x in d}), all(x["why"] for x in d if x["state"] == "off"), {x["state"] for x in d} <= {"on", "off", ""})'
['GPU', 'container', 'network', 'recording', 'sampling', 'system'] True True
$ python3 -c 'import json; d=json.load(open("status.json")); print([x["state"] for x in d if x["name"] == "collector"])'
['on']

# The CUPTI that would record, with its version; a library that is none is said.
$ FATHOM_CUPTI=$(dirname "$(command -v fathom)")/test/fake/libcupti.so fathom status -f json | python3 -c 'import json,sys; print([(x["state"], x["value"].split(", ")[-1]) for x in json.load(sys.stdin) if x["name"] == "CUPTI"])'
[('on', 'version 130001')]
$ FATHOM_CUPTI=/nowhere/libcupti.so fathom status | grep -A 1 '^  CUPTI'
  CUPTI                     off  /nowhere/libcupti.so: cannot open shared object file: No such file or directory
                                 -> FATHOM_CUPTI names one; pip install nvidia-cuda-cupti has one

# Parts alone.
$ fathom status -e | grep '^[a-z]'
system
sampling
container
$ fathom status -n | head -1
network
$ fathom status --spool /nowhere | grep 'spool folder'
  spool folder              off  /nowhere: No such file or directory
$ fathom status -f xml
fathom: status: xml: no such format, only text and json
? 2
