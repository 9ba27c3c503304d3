#!/usr/bin/env python3
"""train_windows.py cuda|torch CYCLES STEPS - train.py with a profiler on and off in turn, in one process.

A cycle is STEPS steps without and STEPS with: between cudaProfilerStart and
Stop, or under torch.profiler. The first quarter of each is not counted.
Prints a line for each cycle: median milliseconds a step without and with.
"""
import statistics
import sys

import torch

import train

how, cycles, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def some():
    return statistics.median(train.timed(steps)[steps // 4:])


train.timed(20)
for _ in range(cycles):
    off = some()
    if how == "torch":
        with torch.profiler.profile():
            on = some()
    else:
        torch.cuda.profiler.start()
        on = some()
        torch.cuda.profiler.stop()
    print(f"cycle {off:.4f} {on:.4f}", flush=True)
