#!/usr/bin/env python3
"""cost_windows.py DIST NSYS ROUNDS SECONDS - what recording adds to a step, each profiler on and off in turn in one process.

Processes differ from one another by more than recording costs; steps of one
process hardly do. Prints for each profiler: cycles, lower quartile and median
of the milliseconds without and of those added, with an interval of 90 percent
of the median by bootstrap over cycles, and its share of what nsys adds.
"""
import os
import random
import re
import statistics
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
dist, nsys, rounds, deadline = sys.argv[1], sys.argv[2], int(sys.argv[3]), time.time() + float(sys.argv[4])
work = os.getcwd()
WINDOWS = ["-c", "cudaProfilerApi", "--capture-range-end=repeat"]
program = ["python3", f"{here}/train_windows.py"]
WAYS = {
    "fathom": [f"{dist}/bin/fathom", "profile", "-q", "-f", "-o", f"{work}/windows", *WINDOWS, *program, "cuda", "6", "60"],
    "nsys": [nsys, "profile", "-f", "true", "-o", f"{work}/windows", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none",
             *WINDOWS, *program, "cuda", "6", "60"],
    "torch": [*program, "torch", "6", "60"],
}

cycles = {way: [] for way in WAYS}
for number in range(rounds):
    for way in WAYS:
        if time.time() > deadline:
            break
        try:
            done = subprocess.run(WAYS[way], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            print(f"{way}: took longer than a minute")
            continue
        found = re.findall(r"^cycle ([\d.]+) ([\d.]+)", done.stdout, re.M)
        if not found:
            print(f"{way}: no figure: status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
        cycles[way] += [(float(off), float(on)) for off, on in found]

print(f"{'profiler':9} {'cycles':>6} {'off':>8} {'quartile':>9} {'median':>8} {'5..95%':>17} {'/ nsys':>7}")
added = {way: [on - off for off, on in cycles[way]] for way in WAYS}
draw = random.Random(1)
for way in WAYS:
    if len(added[way]) < 2:
        continue
    medians = sorted(statistics.median(draw.choices(added[way], k=len(added[way]))) for _ in range(2000))
    share = statistics.median(added[way]) / statistics.median(added["nsys"]) if added["nsys"] else 0
    print(f"{way:9} {len(added[way]):6} {statistics.median(off for off, _ in cycles[way]):8.3f}"
          f" {statistics.quantiles(added[way], n=4)[0]:9.3f} {statistics.median(added[way]):8.3f}"
          f" {medians[100]:8.3f}..{medians[1900]:7.3f} {share:7.2f}")
