"""Control a recording of `fathom profile` from inside the program.

    import fathom

    fathom.start()                 # open a window (with -c cudaProfilerApi: the first one)
    with fathom.range("epoch"):
        train()
    fathom.stop()

    steps = fathom.schedule(wait=1, warmup=2, active=3, repeat=1)
    for batch in loader:
        train(batch)
        steps.step()

One file without any requirement: copy it or put its folder on PYTHONPATH.
Where the program is not run under fathom every call does nothing.
"""

import contextlib
import ctypes
import os

__all__ = ["start", "stop", "range", "range_push", "range_pop", "mark", "is_recording", "schedule"]


def _load():
    """The collector that fathom put into this process, or None."""
    path = os.environ.get("NVTX_INJECTION64_PATH") or os.environ.get("CUDA_INJECTION64_PATH") or ""
    if not os.environ.get("FATHOM_SPOOL") or "fathom" not in os.path.basename(path):
        return None
    try:
        library = ctypes.CDLL(path)
        library.fathom_range_push.argtypes = [ctypes.c_char_p]
        library.fathom_mark.argtypes = [ctypes.c_char_p]
        return library
    except (OSError, AttributeError):
        return None


_library = _load()


def start():
    """Open a window; True when one is open then."""
    return bool(_library and _library.fathom_start())


def stop():
    """Close the window; start() may open another."""
    if _library:
        _library.fathom_stop()


def is_recording():
    """True while a window is open in this process."""
    return bool(_library and _library.fathom_is_recording())


def range_push(text):
    """Begin a range of this thread; returns its depth, or -2 when nothing is recorded."""
    return _library.fathom_range_push(str(text).encode()) if _library else -2


def range_pop():
    """End the innermost range of this thread."""
    return _library.fathom_range_pop() if _library else -2


def mark(text):
    """Note an instant."""
    if _library:
        _library.fathom_mark(str(text).encode())


@contextlib.contextmanager
def range(text):
    """A range around a block."""
    range_push(text)
    try:
        yield
    finally:
        range_pop()


class schedule:
    """Record some steps of a loop: skip `wait`, let `warmup` pass, record `active`; `repeat` times (0: for ever).

    The program should be run with `fathom profile -c cudaProfilerApi --capture-range-end none`, so that
    nothing is recorded before the first active step. Every recorded step is a range `step N`.
    """

    def __init__(self, wait=0, warmup=0, active=1, repeat=0):
        if min(wait, warmup, repeat) < 0 or active < 1:
            raise ValueError("wait, warmup and repeat are from 0 on, active from 1 on")
        self.wait, self.warmup, self.active, self.repeat = wait, warmup, active, repeat
        self.number = 0
        self._is_open = False
        self._begin()

    def _is_active(self):
        cycle = self.wait + self.warmup + self.active
        done, at = divmod(self.number, cycle)
        return (self.repeat == 0 or done < self.repeat) and at >= self.wait + self.warmup

    def _begin(self):
        if not self._is_active():
            return
        if not self._is_open:
            self._is_open = start()
        range_push(f"step {self.number}")

    def step(self):
        """A step of the loop is over."""
        if self._is_active():
            range_pop()
        self.number += 1
        if self._is_open and not self._is_active():
            stop()
            self._is_open = False
        self._begin()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._is_active():
            range_pop()
        if self._is_open:
            stop()
            self._is_open = False
