#!/usr/bin/env python3
"""cost.py DIST NSYS ROUNDS [SECONDS [PROGRAM...]] - what recording costs, interleaved with nothing, nsys and torch.profiler.

Every round runs every program once in every way, in turn. A program prints
its own figure (microseconds a launch or replay, milliseconds a step); the CPU
time of all its threads is the second witness. Prints minimum, lower quartile
and median of each way, the time added to the lower quartile with an interval
of 90 percent by bootstrap over rounds, and its share of what nsys adds.
"armed" waits for a cudaProfilerStart that does not come; "stopped" has recorded
five steps and measures what comes after them.
"""
import os
import random
import re
import resource
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
dist, nsys, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
deadline = time.time() + float(sys.argv[4] if len(sys.argv) > 4 else 500)
work = os.getcwd()
fathom = [f"{dist}/bin/fathom", "profile", "-q", "-f", "-o", f"{work}/cost"]
nsight = [nsys, "profile", "-f", "true", "-o", f"{work}/cost", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"]
python = ["python3"]

PROGRAMS = {
    "launch": (["./launch", "100000"], r"([\d.]+) us/launch submit", ["nothing", "fathom", "armed", "nsys"]),
    "train": (python + [f"{here}/train.py"], r"median ([\d.]+)", ["nothing", "fathom", "armed", "stopped", "nsys", "torch"]),
    "graph 5 us": (["./graph", "300", "300"], r"median ([\d.]+)", ["nothing", "fathom", "whole", "nsys"]),
    "graph 20 us": (["./graph", "300", "100", "8500"], r"median ([\d.]+)", ["nothing", "fathom", "nsys"]),
}

PROGRAMS = {name: of for name, of in PROGRAMS.items() if not sys.argv[5:] or name in sys.argv[5:]}


def command(way, program):
    if way == "fathom":
        return fathom + program
    if way == "stopped":
        return ["env", "WINDOW=1"] + fathom + ["-c", "cudaProfilerApi", "--capture-range-end=repeat"] + program
    if way == "armed":
        return fathom + ["-c", "cudaProfilerApi", "--capture-range-end=none"] + program
    if way == "whole":
        return fathom + ["--cuda-graph-trace=graph"] + program
    if way == "nsys":
        return nsight + (["--cuda-graph-trace=node"] if "./graph" in program else []) + program
    if way == "torch":
        return python + [f"{here}/train_profiled.py"]
    return program


def once(way, program, pattern):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command(way, program), capture_output=True, text=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(pattern, done.stdout)
    if not found:
        print(f"{way}: no figure: status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
        return None
    return float(found.group(1)), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quartile(values):
    values = sorted(values)
    at = (len(values) - 1) * 0.25
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def interval(a, b):
    """5 and 95 percent of the difference of lower quartiles, rounds drawn anew."""
    draw = random.Random(1)
    some = []
    for _ in range(2000):
        some.append(quartile(draw.choices(b, k=len(b))) - quartile(draw.choices(a, k=len(a))))
    some.sort()
    return some[100], some[1900]


results = {(p, w): [] for p in PROGRAMS for w in PROGRAMS[p][2]}
done_rounds = 0
for number in range(rounds):
    if time.time() > deadline:
        break
    for name, (program, pattern, ways) in PROGRAMS.items():
        order = ways[number % len(ways):] + ways[:number % len(ways)]
        for way in order:
            if time.time() > deadline + 30:
                continue
            figure = once(way, program, pattern)
            if figure:
                results[name, way].append(figure)
    done_rounds += 1

print(f"{done_rounds} rounds, interleaved; figure: us a launch, ms a step, us a replay; CPU: seconds of the whole command")
print(f"{'program':12} {'way':8} {'n':>3} {'min':>9} {'quartile':>9} {'median':>9} {'added':>8} {'5..95%':>19} {'added %':>8} {'/ nsys':>7} {'CPU s':>7}")
for name, (_, _, ways) in PROGRAMS.items():
    bare = [f for f, _ in results[name, "nothing"]]
    nsys_added = quartile([f for f, _ in results[name, "nsys"]]) - quartile(bare) if results[name, "nsys"] else 0
    for way in ways:
        figures = [f for f, _ in results[name, way]]
        if not figures:
            continue
        added = quartile(figures) - quartile(bare)
        low, high = interval(bare, figures)
        print(f"{name:12} {way:8} {len(figures):3} {min(figures):9.3f} {quartile(figures):9.3f} {sorted(figures)[len(figures) // 2]:9.3f}"
              f" {added:8.3f} {low:9.3f}..{high:8.3f} {100 * added / quartile(bare):7.2f}% {added / nsys_added if nsys_added else 0:7.2f}"
              f" {sorted(c for _, c in results[name, way])[len(figures) // 2]:7.2f}")
