"""labelled.py DIR NAME[,NAME...] - programs whose bottleneck is known by how they are made.

With PLAIN=1 one pattern runs its steps in NVTX ranges "step" between
cudaProfilerStart and cudaProfilerStop; otherwise each runs under torch.profiler
and leaves DIR/NAME.json.gz, or with WITH_STACK=1 DIR/NAME.stacks.json.gz. GPU_LOCK names a file that is locked before CUDA is
used: programs that start side by side then measure one after the other.

A pattern is a function that prepares and returns its step. What it says of the
cause is in LABELS; verdicts.py compares that with what fathom says.
"""
import collections
import ctypes
import fcntl
import gc
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

# Classes without "-bound". "mixed" is accepted when one of its two classes is too. A class in neither list is open.
Label = collections.namedtuple("Label", "accepted rejected truth")
BUSY = "launch host data io sync copy alloc dependency communication"
LABELS = {
    "loader_main": Label("host data", "launch sync compute memory kernel copy alloc dependency io",
        "25 ms of NumPy in the main thread, in no range, before a small network: the GPU waits for it"),
    "loader_thread": Label("host data", "launch sync compute memory kernel copy alloc dependency",
        "a thread prepares a batch in 25 ms, the main thread waits in queue.get: the GPU waits for it"),
    "loader_hidden": Label("compute kernel", BUSY,
        "15 ms of NumPy after 25 ms of matrix products were queued: the GPU never waits for it"),
    "workers_slow": Label("data host", "launch sync compute memory kernel copy alloc dependency",
        "two DataLoader workers need 80 ms for a batch each: the GPU waits for them"),
    "workers_fast": Label("compute kernel", BUSY,
        "two DataLoader workers need 5 ms for a batch, the GPU 25 ms: it never waits for them"),
    "read_files": Label("io host data mixed", "launch sync compute memory kernel alloc dependency",
        "64 MiB are read with pread, past the page cache, before a little GPU work"),
    "copies_hidden": Label("compute kernel", BUSY,
        "pinned copies on a second stream, wholly under matrix products of the first"),
    "pinned_in_line": Label("copy", "launch sync compute memory kernel host data alloc dependency",
        "512 MiB from pinned memory in the stream of the kernels that use them: nothing hides the copy"),
    "pageable_inputs": Label("copy", "launch sync compute memory kernel host data alloc dependency",
        "128 MiB by .to() from pageable memory, in no range, before a little GPU work"),
    "outputs_to_host": Label("copy", "launch compute memory kernel host data alloc dependency",
        ".cpu() of three outputs of 64 MiB a step"),
    "device_copies": Label("copy memory", "launch sync compute host data alloc dependency io",
        "ten copies of 2 GiB from device memory to device memory"),
    "cache_emptied": Label("alloc", "launch compute memory kernel copy host data dependency",
        "torch.cuda.empty_cache() after each of 16 tensors of 2 GiB: cudaMalloc and cudaFree in the steady state"),
    "item_everywhere": Label("sync mixed", "compute memory kernel copy data alloc dependency io",
        "300 times a small operation and .item() of its sum"),
    "synchronize_storm": Label("sync mixed kernel compute", "launch memory copy data alloc dependency io",
        "torch.cuda.synchronize() after each of 300 matrix products of some 25 us: it waits, then the GPU does"),
    "synchronize_late": Label("launch", "compute memory kernel copy data alloc dependency io",
        "torch.cuda.synchronize() after each of 600 matrix products of 3 us, which end before the wait begins: submission"),
    "item_at_end": Label("compute kernel", BUSY,
        "30 ms of matrix products and one .item() at the end of the step: the host waits, the GPU does not"),
    "tiny_autocast": Label("launch", "compute memory kernel copy data sync alloc dependency io",
        "forward, backward and SGD of a small network under autocast, eager: submission"),
    "recurrent": Label("launch", "compute memory kernel copy data sync alloc dependency io",
        "100 steps of an LSTMCell, eager: submission"),
    "decode_eager": Label("launch", "compute memory kernel copy data sync alloc dependency io",
        "one token after another through a small transformer, its cache grown by cat, eager: submission"),
    "decode_graph": Label("memory kernel latency", BUSY,
        "a CUDA graph of one token through a large transformer, replayed 40 times: reading weights"),
    "big_matmuls": Label("compute kernel", BUSY + " memory latency",
        "ten fp16 products of 16384x4096 and 4096x16384"),
    "chains": Label("memory kernel", BUSY + " compute latency",
        "element-wise fp32 operations over tensors of 2 GiB"),
    "norms": Label("memory kernel", BUSY + " compute latency",
        "softmax and layer_norm of tensors of 1 GiB"),
    "gathers": Label("memory kernel latency", BUSY + " compute",
        "rows of 512 bytes picked at random from a table of 4 GiB"),
    "few_blocks": Label("latency kernel", BUSY + " compute memory",
        "softmax of four very long rows: four blocks on the whole device"),
    "attention": Label("compute kernel", BUSY + " memory latency",
        "scaled_dot_product_attention of 8192 tokens, bf16, causal"),
    "many_parameters": Label("launch", "compute memory kernel copy data sync alloc dependency io",
        "AdamW with foreach=False over 150 small parameters: submission"),
    "streams_in_turn": Label("compute kernel", BUSY,
        "two streams that wait for each other's events in turn: the GPU is busy, one stream at a time"),
    "host_callback": Label("dependency", "launch sync compute memory kernel copy data alloc io",
        "a host function of 20 ms in the stream (cuLaunchHostFunc): the next kernel is queued and waits for it"),
    "python_between": Label("host", "sync compute memory kernel copy data alloc dependency io",
        "2 ms of plain Python, in no range, before each of ten small matrix products"),
    "two_threads": Label("launch mixed", "compute memory kernel copy data sync alloc dependency io",
        "two threads launch small operations to a stream each, and share the interpreter's lock: submission"),
    "checkpointed": Label("compute kernel", BUSY + " memory latency",
        "training of two wide transformer blocks with gradient checkpointing, bf16"),
    "compiled": Label("memory kernel", BUSY + " compute latency",
        "a chain of element-wise operations over 512 MiB, fused by torch.compile"),
}
N_STEPS = 5
DEV = "cuda"


def busy(seconds):
    """Work with NumPy for so long; returns an array."""
    a, end = np.random.rand(64, 256).astype("float32"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        a = np.tanh(a * 1.01)
    return a


def network(width=1024, depth=6):
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)]).to(DEV).to(torch.bfloat16)


def small_network():
    net, x = network(), torch.randn(256, 1024, device=DEV, dtype=torch.bfloat16)

    def run(batch):
        return net(x * batch.to(DEV, torch.bfloat16).repeat(4, 4))
    return run


def products(n, size=8192):
    a = torch.randn(size, size, device=DEV, dtype=torch.bfloat16)
    b = torch.randn(size, size, device=DEV, dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def run():
        for _ in range(n):
            torch.mm(a, b, out=out)
        return out
    return run


def loader_main():
    run = small_network()
    return lambda: run(torch.from_numpy(busy(0.025)))


def loader_thread():
    run, batches = small_network(), queue.Queue(2)

    def prepare():
        while True:
            batches.put(torch.from_numpy(busy(0.025)))
    threading.Thread(target=prepare, daemon=True).start()
    return lambda: run(batches.get())


def loader_hidden():
    work, scale, host = products(16), torch.ones(64, 256, device=DEV), torch.ones(64, 256).pin_memory()

    def step():
        work()
        scale.copy_(host, non_blocking=True)
        host.copy_(torch.from_numpy(busy(0.015)))
    return step


class Batches:
    """A data set whose every batch takes so long."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        return torch.from_numpy(busy(self.seconds))


def workers(seconds, use):
    loader = torch.utils.data.DataLoader(Batches(seconds), batch_size=None, num_workers=2)
    batches = iter(loader)
    return lambda: use(next(batches))


def workers_slow():
    return workers(0.080, small_network())


def workers_fast():
    work = products(16)

    def use(batch):
        scale = batch.pin_memory().to(DEV, non_blocking=True)
        work()
        return scale * 2
    return workers(0.005, use)


def read_files():
    path, size, chunk = os.path.join(tempfile.gettempdir(), f"labelled-{os.getpid()}.bin"), 64 << 20, 4 << 20
    with open(path, "wb") as f:
        f.write(os.urandom(size))
        f.flush()
        os.fsync(f.fileno())
    fd = os.open(path, os.O_RDONLY)
    os.unlink(path)
    host, device = torch.empty(size, dtype=torch.uint8).pin_memory(), torch.empty(size, dtype=torch.uint8, device=DEV)
    net, x, view = network(), torch.randn(256, 1024, device=DEV, dtype=torch.bfloat16), memoryview(host.numpy())

    def step():
        os.posix_fadvise(fd, 0, size, os.POSIX_FADV_DONTNEED)
        for at in range(0, size, chunk):
            os.preadv(fd, [view[at:at + chunk]], at)
        device.copy_(host, non_blocking=True)
        net(x)
    return step


def copies_hidden():
    work, side = products(16), torch.cuda.Stream()
    host = [torch.empty(16 << 20).pin_memory() for _ in range(4)]
    device = [torch.empty(16 << 20, device=DEV) for _ in range(4)]

    def step():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for h, d in zip(host, device):
                d.copy_(h, non_blocking=True)
        work()
        torch.cuda.current_stream().wait_stream(side)
    return step


def pinned_in_line():
    host, net = torch.empty(128 << 20).pin_memory(), network()
    device, x = torch.empty(128 << 20, device=DEV), torch.randn(256, 1024, device=DEV, dtype=torch.bfloat16)

    def step():
        device.copy_(host, non_blocking=True)
        net(x + device[:1024].to(torch.bfloat16))
    return step


def pageable_inputs():
    host, net = [torch.randn(16 << 20) for _ in range(2)], network()

    def step():
        a, b = [h.to(DEV) for h in host]
        net((a * b)[:1 << 18].view(256, 1024).to(torch.bfloat16))
    return step


def outputs_to_host():
    a = torch.randn(4096, 4096, device=DEV)

    def step():
        return [(a * k).cpu() for k in (2, 3, 5)]
    return step


def device_copies():
    a, b = torch.empty(512 << 20, device=DEV), torch.empty(512 << 20, device=DEV)

    def step():
        for _ in range(10):
            b.copy_(a)
    return step


def cache_emptied():
    def step():
        for _ in range(16):
            x = torch.empty(512 << 20, device=DEV)
            x[:1024].fill_(1)
            del x
            torch.cuda.empty_cache()
    return step


def item_everywhere():
    x = torch.randn(128, 128, device=DEV)

    def step():
        total, y = 0.0, x
        for _ in range(300):
            y = y * 0.999
            total += y.sum().item()
        return total
    return step


def synchronized(n, size):
    work = products(1, size)

    def step():
        for _ in range(n):
            work()
            torch.cuda.synchronize()
    return step


def synchronize_storm():
    return synchronized(300, 2048)


def synchronize_late():
    return synchronized(600, 512)


def item_at_end():
    work = products(20)
    return lambda: work()[0].float().sum().item()


def tiny_autocast():
    net = nn.Sequential(nn.Linear(128, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)).to(DEV)
    opt, x, y = torch.optim.SGD(net.parameters(), 0.01, foreach=False), torch.randn(16, 128, device=DEV), torch.randint(0, 10, (16,), device=DEV)

    def step():
        for _ in range(12):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
    return step


def recurrent():
    cell, xs = nn.LSTMCell(128, 128).to(DEV), torch.randn(100, 8, 128, device=DEV)

    @torch.no_grad()
    def step():
        h = c = torch.zeros(8, 128, device=DEV)
        for x in xs:
            h, c = cell(torch.tanh(x) + 0.1, (h, c))
            h = F.layer_norm(h, (128,))
    return step


class Decoder:
    """Layers of a transformer, for one token at a time."""

    def __init__(self, width, depth, heads):
        w = lambda *shape: torch.randn(*shape, device=DEV, dtype=torch.bfloat16) * 0.02
        self.layers = [(w(width, 3 * width), w(width, width), w(width, 4 * width), w(4 * width, width)) for _ in range(depth)]
        self.width, self.heads = width, heads

    def token(self, x, attend):
        for i, (qkv, o, up, down) in enumerate(self.layers):
            q, k, v = (F.layer_norm(x, (self.width,)) @ qkv).view(1, 3, self.heads, -1).transpose(0, 1).unsqueeze(3)
            x = x + attend(i, q, k, v).reshape(1, self.width) @ o
            x = x + F.gelu(F.layer_norm(x, (self.width,)) @ up) @ down
        return x


def decode_eager():
    net, table = Decoder(512, 4, 8), torch.randn(1000, 512, device=DEV, dtype=torch.bfloat16)
    prompt = torch.randn(1, 8, 64, 64, device=DEV, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        cache, x = [(prompt, prompt) for _ in net.layers], table[:1]

        def attend(i, q, k, v):
            cache[i] = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            return F.scaled_dot_product_attention(q, *cache[i])
        for _ in range(24):
            x = table[(net.token(x, attend) @ table.T).argmax(1)]
    return step


def decode_graph():
    net, x = Decoder(4096, 4, 32), torch.randn(1, 4096, device=DEV, dtype=torch.bfloat16)
    keys = torch.randn(4, 1, 32, 512, 128, device=DEV, dtype=torch.bfloat16)

    def attend(i, q, k, v):
        keys[i][:, :, :1].copy_(k)
        return F.scaled_dot_product_attention(q, keys[i], keys[i])
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(3):
                net.token(x, attend)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = net.token(x, attend)

    def step():
        for _ in range(40):
            graph.replay()
        return kept
    return step


def big_matmuls():
    a, b = torch.randn(16384, 4096, device=DEV, dtype=torch.float16), torch.randn(4096, 16384, device=DEV, dtype=torch.float16)

    def step():
        for _ in range(10):
            a @ b
    return step


def chains():
    a, b = torch.randn(512 << 20, device=DEV), torch.randn(512 << 20, device=DEV)

    def step():
        for _ in range(4):
            torch.add(a, b, out=b)
            b.mul_(0.5)
            torch.relu(b)
            b.clamp_(-4, 4)
    return step


def norms():
    a = torch.randn(16384, 16384, device=DEV)

    def step():
        for _ in range(10):
            F.softmax(a, -1)
            F.layer_norm(a, (16384,))
    return step


def gathers():
    table, rows = torch.randn(8 << 20, 128, device=DEV), torch.randint(0, 8 << 20, (4 << 20,), device=DEV)

    def step():
        for _ in range(16):
            torch.index_select(table, 0, rows)
    return step


def few_blocks():
    a = torch.randn(4, 8 << 20, device=DEV)

    def step():
        for _ in range(8):
            F.softmax(a, -1)
    return step


def attention():
    q, k, v = torch.randn(3, 4, 16, 8192, 128, device=DEV, dtype=torch.bfloat16)

    def step():
        for _ in range(10):
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return step


def many_parameters():
    parameters = [nn.Parameter(torch.randn(64, 64, device=DEV)) for _ in range(150)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    return torch.optim.AdamW(parameters, 1e-4, foreach=False, fused=False).step


def streams_in_turn():
    works, streams = [products(1), products(1)], [torch.cuda.Stream(), torch.cuda.Stream()]

    def step():
        for _ in range(10):
            for i in (0, 1):
                with torch.cuda.stream(streams[i]):
                    works[i]()
                    done = torch.cuda.Event()
                    done.record()
                    streams[1 - i].wait_event(done)
    return step


def host_callback():
    net, x = network(), torch.randn(256, 1024, device=DEV, dtype=torch.bfloat16)
    driver, libc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
    sleep = ctypes.cast(libc.usleep, ctypes.c_void_p)

    def step():
        net(x)
        status = driver.cuLaunchHostFunc(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), sleep, ctypes.c_void_p(20000))
        if status:
            raise RuntimeError(f"cuLaunchHostFunc: {status}")
        net(x)
    return step


def python_between():
    work = products(1, 1024)

    def step():
        for _ in range(10):
            total, end = 0, time.perf_counter() + 0.002
            while time.perf_counter() < end:
                total += sum(i * i for i in range(50))
            work()
    return step


def two_threads():
    pool, x = ThreadPoolExecutor(2), torch.randn(64, 64, device=DEV)
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]

    def launch(stream):
        with torch.no_grad(), torch.cuda.stream(stream):
            y = x
            for _ in range(400):
                y = torch.sin(y) + 1
        return y
    return lambda: [f.result() for f in [pool.submit(launch, s) for s in streams]]


def checkpointed():
    from torch.utils.checkpoint import checkpoint
    width = 4096
    block = lambda: nn.TransformerEncoderLayer(width, 32, 4 * width, 0.0, batch_first=True, norm_first=True, activation="gelu")
    blocks = [block().to(DEV).to(torch.bfloat16) for _ in range(2)]
    opt = torch.optim.SGD([p for b in blocks for p in b.parameters()], 1e-5)
    x = torch.randn(4, 1024, width, device=DEV, dtype=torch.bfloat16, requires_grad=True)

    def step():
        y = x
        for b in blocks:
            y = checkpoint(b, y, use_reentrant=False)
        y.sum().backward()
        opt.step()
        opt.zero_grad()
    return step


def compiled():
    a = torch.randn(128 << 20, device=DEV)
    fused = torch.compile(lambda x: torch.sin(x) * torch.sigmoid(x) + x * 0.5 - torch.tanh(x))

    def step():
        for _ in range(40):
            fused(a)
    return step


def plain(step):
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for _ in range(N_STEPS):
        torch.cuda.nvtx.range_push("step")
        step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def profiled(step, path):
    from torch.profiler import ProfilerActivity, profile, schedule
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=bool(os.environ.get("WITH_STACK")),
                 schedule=schedule(wait=1, warmup=1, active=N_STEPS, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(path)) as p:
        for _ in range(N_STEPS + 2):
            step()
            p.step()


def milliseconds(step):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 3 * 1e3


def main(out, names):
    if os.environ.get("GPU_LOCK"):
        fcntl.flock(os.open(os.environ["GPU_LOCK"], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
    failed, suffix = 0, ".stacks.json.gz" if os.environ.get("WITH_STACK") else ".json.gz"
    for name in names:
        signal.alarm(60 if name == "compiled" else 30)  # one that hangs ends this process, not the plan
        torch.manual_seed(0)
        step = None
        try:
            step = globals()[name]()
            for _ in range(4):
                step()
            took = milliseconds(step)
            plain(step) if os.environ.get("PLAIN") else profiled(step, os.path.join(out, name + suffix))
            print(f"{name}: {took:.1f} ms a step", flush=True)
        except Exception:
            failed += 1
            print(f"{name}: {traceback.format_exc()[-600:]}", flush=True)
        signal.alarm(0)
        del step
        gc.collect()
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torch.utils.data
    from torch import nn
    sys.exit(main(sys.argv[1], sys.argv[2].split(",")))
