#!/usr/bin/env python3
"""verdicts.py FATHOM DIR [NAME...] - what fathom says of the captures of labelled.py, and whether that is true.

Each capture is read by `fathom analyze --format json`. A verdict is accepted
or rejected as LABELS says; "open" is a class that it does not speak of, and
"abstains" is undecided or diffuse. Ends with status 1 when one was rejected or
could not be read. With --markdown the table is one of names and dialects.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from labelled import LABELS

DIALECTS = {"torch": ".json.gz", "stacks": ".stacks.json.gz", "nsys": ".sqlite.gz", "nsys-os": ".os.sqlite.gz", "fathom": ".fathom"}


def judge(label, word, mixed):
    accepted, rejected = label.accepted.split(), label.rejected.split()
    if word in ("undecided", "diffuse"):
        return "abstains"
    if word == "mixed":
        if "mixed" in accepted and any(m in accepted for m in mixed):
            return "accepted"
        return "REJECTED" if all(m in rejected for m in mixed) else "open"
    return "accepted" if word in accepted else "REJECTED" if word in rejected else "open"


def analyze(fathom, path):
    done = subprocess.run([fathom, "analyze", "--format", "json", path], capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout), None
    except ValueError:
        return None, f"status {done.returncode}: {done.stderr.strip()[-200:]}"


def main(arguments):
    markdown = "--markdown" in arguments
    fathom, folder, *only = [a for a in arguments if a != "--markdown"]
    count, rows = {}, {}
    for name, label in LABELS.items():
        if only and name not in only:
            continue
        for dialect, suffix in DIALECTS.items():
            path = os.path.join(folder, name + suffix)
            if not os.path.exists(path):
                continue
            answer, problem = analyze(fathom, path)
            b = answer and answer["bottleneck"]
            if not b:
                verdict, word, told, shares = "REJECTED", "none", problem or "no bottleneck", ""
            else:
                short = lambda c: (c or "-").replace("-bound", "")
                word, mixed = short(b["class"]), [short(m) for m in b["mixed"] or []]
                verdict = judge(label, word, mixed)
                told = f"{'+'.join(mixed) if mixed else word}, {b['state']}, {b['confidence'] or '-'}"
                shares = " ".join(f"{k} {v:.0%}" for k, v in sorted(b["shares"].items(), key=lambda s: -s[1])[:4] if v >= 0.01)
                if not markdown and b["reason"] and verdict == "abstains":
                    shares += "; " + b["reason"]
            count[verdict] = count.get(verdict, 0) + 1
            rows.setdefault(name, {})[dialect] = (verdict, told)
            if not markdown:
                print(f"{name:18} {dialect:7} {verdict:9} {told:36} {shares}", flush=True)
    if markdown:
        dialects = [d for d in DIALECTS if any(d in by for by in rows.values())]
        print("| pattern | accepted | " + " | ".join(dialects) + " |\n|---|---|" + "---|" * len(dialects))
        for name, by in rows.items():
            cells = ["" if d not in by else by[d][1] + ("" if by[d][0] == "accepted" else f" (**{by[d][0].lower()}**)") for d in dialects]
            print(f"| {name} | {LABELS[name].accepted.replace(' ', ', ')} | " + " | ".join(cells) + " |")
    print("\n" + ", ".join(f"{n} {word}" for word, n in sorted(count.items())))
    return 1 if count.get("REJECTED") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
