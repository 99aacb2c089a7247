"""Resumes this process if it is stopped (SIGSTOP) while it holds threads of another process.

SIGSTOP cannot be blocked, and the threads that a stopped tracer holds stay stopped until it is continued. So a child
process watches it: it continues a stopped tracer, and stops it again once no thread is held. Sources: signal(7),
prctl(2).
"""

import ctypes
import mmap
import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

POLL_S = 0.001
_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@contextmanager
def deferred_stop() -> Iterator[None]:
    """A context in which SIGSTOP takes effect only at the end."""
    done = mmap.mmap(-1, mmap.PAGESIZE)
    tracer = os.getpid()
    with warnings.catch_warnings():
        # The child takes no lock that another thread may have held at the fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            child = os.fork()
        except OSError:
            child = -1
    if child == 0:
        try:
            _watch(tracer, done)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        done[0] = 1
        if child > 0:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def _watch(tracer: int, done: mmap.mmap) -> None:
    """Watch the parent process until it is done."""
    # Signals of the terminal do not reach a session of its own; it ends with its parent.
    os.setsid()
    _libc.prctl(_PDEATHSIG, signal.SIGKILL)
    was_stopped = False
    path = f"/proc/{tracer}/stat"
    while not done[0] and os.getppid() == tracer:
        time.sleep(POLL_S)
        if _is_stopped(path):
            was_stopped = True
            os.kill(tracer, signal.SIGCONT)
    if was_stopped and os.getppid() == tracer:
        os.kill(tracer, signal.SIGSTOP)


def _is_stopped(path: str) -> bool:
    """Whether the state in a /proc/PID/stat is T."""
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(file, 4096).rpartition(b") ")[2][:1] == b"T"
        finally:
            os.close(file)
    return False
