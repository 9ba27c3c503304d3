#!/usr/bin/env python3
"""steady.py DIST SECONDS PROGRAM... - does memory stay constant while a program is recorded for a long time?

Records the program for SECONDS, looks every tenth of them, and prints a row
for each look: MiB of private memory of the target and of fathom, MiB of the
spool's files that the target has mapped, MiB of the spool on disk. A program
that ends sooner is taken as it is. The last line is what the file holds.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

dist, seconds, program = os.path.abspath(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
work = tempfile.mkdtemp()
spool = f"{work}/spool"
os.mkdir(spool)


def memory(pid):
    """MiB private, MiB mapped of the spool."""
    private = mapped = 0
    of_spool = False
    try:
        for line in open(f"/proc/{pid}/smaps"):
            word = line.split()
            if "-" in word[0]:
                of_spool = spool in line
            elif word[0] == "Rss:" and of_spool:
                mapped += int(word[1])
            elif word[0] in ("Private_Dirty:", "Private_Clean:") and not of_spool:
                private += int(word[1])
    except OSError:
        pass
    return private / 1024, mapped / 1024


def below(pid):
    """The deepest first child of a process."""
    while True:
        try:
            child = open(f"/proc/{pid}/task/{pid}/children").read().split()
        except OSError:
            return pid
        if not child:
            return pid
        pid = int(child[0])


command = [f"{dist}/bin/fathom", "profile", "-f", "-o", f"{work}/steady", "--spool", spool, "-d", str(seconds), *program]
fathom = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
start = time.time()
print(f"{'s':>6} {'target':>9} {'mapped':>8} {'fathom':>8} {'spool':>8}")
while fathom.poll() is None and time.time() - start < seconds - seconds / 20:
    time.sleep(seconds / 10 - (0.5 if time.time() - start < 1 else 0))
    target = below(fathom.pid)
    if target == fathom.pid or fathom.poll() is not None:
        break
    used = sum(os.stat(os.path.join(at, name)).st_blocks for at, _, names in os.walk(spool) for name in names) / 2048
    (own, mapped), (ours, _) = memory(target), memory(fathom.pid)
    print(f"{time.time() - start:6.0f} {own:9.1f} {mapped:8.1f} {ours:8.1f} {used:8.1f}", flush=True)
text = fathom.communicate(timeout=200)[0]
print(f"status {fathom.returncode}, {time.time() - start:.0f} s, file {os.path.getsize(f'{work}/steady.fathom') / 2**20:.1f} MiB")
print("\n".join([line for line in text.splitlines() if any(w in line for w in ("ernel", "lost", "cost", "note"))][:12]))
shutil.rmtree(work)
