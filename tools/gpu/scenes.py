"""scenes.py NAME - Python programs whose GPU work is known: each prints what it launched."""
import os
import sys

name = sys.argv[1]
n = 23

if name == "cupy":
    import cupy
    x = cupy.arange(1000, dtype=cupy.float32)
    for _ in range(n):
        x = x * 2
    cupy.cuda.Device().synchronize()
elif name == "numba":
    import numpy
    from numba import cuda

    @cuda.jit
    def twice(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = cuda.to_device(numpy.arange(1000, dtype=numpy.float32))
    for _ in range(n):
        twice[4, 256](x)
    cuda.synchronize()
elif name == "triton":
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(p, size, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(p + at, tl.load(p + at, mask=at < size) + 1, mask=at < size)

    x = torch.zeros(1000, device="cuda")
    for _ in range(n):
        add_one[(4,)](x, 1000, BLOCK=256)
    torch.cuda.synchronize()
elif name == "compile":
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256)).cuda()
    fast = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(64, 256, device="cuda")
    with torch.inference_mode():
        for _ in range(n):
            fast(x)
    torch.cuda.synchronize()
elif name == "kineto":
    import torch
    from torch.profiler import ProfilerActivity, profile
    x = torch.randn(256, 256, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for _ in range(n):
            x = x @ x
        torch.cuda.synchronize()
    print("torch.profiler saw", sum(e.count for e in p.key_averages() if e.self_device_time_total > 0), "device rows")
elif name == "control":
    sys.path.insert(0, os.environ["FATHOM_PYTHON"])
    import fathom
    import torch
    x = torch.randn(256, 256, device="cuda")
    torch.cuda.synchronize()
    with fathom.schedule(wait=2, warmup=1, active=3, repeat=2) as steps:
        for _ in range(20):
            y = x @ x
            torch.cuda.synchronize()
            steps.step()
elif name == "spawn":
    import torch
    import torch.multiprocessing as mp

    def work(rank):
        x = torch.ones(16, device="cuda")
        for _ in range(n):
            x = x * 2
        torch.cuda.synchronize()

    if __name__ == "__main__":
        mp.spawn(work, nprocs=4)
print(name, "done")
