#!/usr/bin/env python3
"""scenarios.py DIST - programs that end badly, fork, or use other front ends: readable, losses told, unchanged.

Every scene runs bare and under fathom: output and exit status must be equal.
Prints a line for each: kernels recorded and launched, processes, what fathom
said, and whether the numbers are those that the scene is known for.
"""
import os
import signal
import sqlite3
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
dist = os.path.abspath(sys.argv[1])
fathom = f"{dist}/bin/fathom"
os.environ["FATHOM_PYTHON"] = f"{dist}/share/fathom/python"
scenes = ["./scenes"]
python = ["python3", f"{here}/scenes.py"]

# name, options of fathom, program, kernels expected (None: any), processes with kernels
LIST = [
    ("threads", [], scenes + ["threads", "23"], 23, 1),
    ("churn", [], scenes + ["churn", "500"], 500, 1),
    ("graph", [], ["./graph", "1009", "11"], 1009 * 21, 1),
    ("fork", [], scenes + ["fork", "23"], 46, 1),
    ("_exit", [], scenes + ["_exit", "5000"], 5000, 1),
    ("abort", [], scenes + ["abort", "5000"], 5000, 1),
    ("kill", [], scenes + ["kill", "5000"], 5000, 1),
    ("exception", [], scenes + ["exception", "5000"], 5000, 1),
    ("running", ["-d", "4", "--kill", "sigkill"], scenes + ["running", "1000"], None, 1),
    ("four", [], ["sh", "-c", "./scenes plain 100 & ./scenes plain 100 & ./scenes plain 100 & ./scenes plain 100; wait"], 400, 4),
    ("no CUDA", [], ["sh", "-c", "echo hello; exit 5"], 0, 0),
    ("no trace", ["-t", "none"], scenes + ["plain", "100"], 0, 0),
    ("keep", ["--keep", "1"], ["./launch", "1000000"], None, 1),
    ("limit", ["--spool-limit", "16"], ["./launch", "1000000"], None, 1),
    ("nvtx", ["-c", "nvtx", "-p", "measured_step"], ["python3", f"{here}/workload.py", "--capture"], 3, 1),
    ("range-id", ["-c", "nvtx", "-p", "step", "--range-id", "2-3"], ["env", "PLAIN=1", "python3", f"{here}/patterns.py", ".", "compute_bound"], 12, 1),
    ("delay", ["-y", "2", "-d", "2", "--kill", "none"], scenes + ["sleepy", "100"], None, None),
    ("cupy", [], python + ["cupy"], None, 1),
    ("numba", [], python + ["numba"], None, 1),
    ("triton", [], python + ["triton"], None, 1),
    ("compile", [], python + ["compile"], None, 1),
    ("control", ["-c", "cudaProfilerApi", "--capture-range-end=none"], python + ["control"], None, 1),
    ("spawn", [], python + ["spawn"], None, 4),
    ("kineto", [], python + ["kineto"], None, None),
    ("own", ["--own-cupti"], python + ["kineto"], None, 1),
]


def recorded(path):
    if not os.path.exists(path):
        return -1, -1, -1, -1
    out = "scene.sqlite"
    subprocess.run([fathom, "export", "-q", "-t", "sqlite", "-f", "-o", out, path], capture_output=True, timeout=100)
    db = sqlite3.connect(out)
    one = lambda sql: db.execute(sql).fetchone()[0]
    return (one("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL"),
            one("select count(distinct globalPid) from CUPTI_ACTIVITY_KIND_KERNEL"),
            one("select count(*) from CUPTI_ACTIVITY_KIND_RUNTIME r join StringIds s on s.id = r.nameId where value glob"
                " 'cudaLaunchKernel*' or value glob 'cuLaunchKernel*'"),
            one("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL where mangledName is null or demangledName is null"))


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired:
        return None


only = sys.argv[2:]
for name, options, program, kernels, processes in LIST:
    if only and name not in only:
        continue
    ends = "--kill" in options and "none" not in options
    bare = None if ends or "limit" in name or "keep" in name else run(program)
    if os.path.exists("scene.fathom"):
        os.remove("scene.fathom")
    began = time.time()
    done = run([fathom, "profile", "-q", "-f", "-o", "scene"] + options + program)
    if done is None:
        print(f"{name:10} HANGS")
        continue
    took = time.time() - began
    n, n_processes, n_launches, n_unnamed = recorded("scene.fathom")
    words = []
    if bare:
        status = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
        if done.returncode != status:
            words.append(f"STATUS {done.returncode}, bare {status}")
        quiet = [line for line in bare.stdout.splitlines() if "us/launch" not in line and "replay us" not in line and "saw" not in line]
        if any(line not in done.stdout for line in quiet):
            words.append("OUTPUT DIFFERS")
    if kernels is not None and n != kernels:
        words.append(f"EXPECTED {kernels}")
    if processes is not None and n_processes != processes:
        words.append(f"PROCESSES, EXPECTED {processes}")
    if n_unnamed:
        words.append(f"{n_unnamed} UNNAMED")
    notes = [line.replace("fathom: note: ", "")[:160] for line in done.stderr.splitlines() if line.startswith("fathom:")]
    print(f"{name:10} kernels {n:8} launches {n_launches:8} processes {n_processes} status {done.returncode:3} {took:5.1f} s  {'; '.join(words) or 'ok'}")
    notes += [line for line in done.stdout.splitlines() if "saw" in line]
    for line in notes[:4]:
        print(f"           {line}")
