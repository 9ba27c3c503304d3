"""train.py's steps under torch.profiler (CPU and CUDA): what recording them that way costs."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import train
from torch.profiler import ProfilerActivity, profile

train.timed(10)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
    ts = sorted(train.timed(train.N))
print("step ms median %.3f min %.3f" % (ts[len(ts) // 2], ts[0]))
