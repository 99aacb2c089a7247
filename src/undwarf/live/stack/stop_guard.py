"""Resumes this process if it is stopped (SIGSTOP) while it holds threads of other processes.

SIGSTOP cannot be blocked, and the threads that a stopped tracer holds stay stopped until it is continued. So a child
process watches: when the tracer is stopped the child continues it, and stops it again once no thread is held any more.
Sources: signal(7), prctl(2).
"""

import ctypes
import mmap
import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PAUSE = 0.001
"""Seconds between two looks at us."""
_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@contextmanager
def put_off() -> Iterator[None]:
    """While this lasts, being stopped is put off."""
    done = mmap.mmap(-1, mmap.PAGESIZE)
    us = os.getpid()
    with warnings.catch_warnings():
        # The child does nothing that other threads of ours could have locked.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            child = os.fork()
        except OSError:
            child = -1
    if child == 0:
        try:
            _watch(us, done)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        done[0] = 1
        if child > 0:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def _watch(us: int, done: mmap.mmap) -> None:
    """Look at a process until it is done, as a child of it."""
    # Not of its session, so that what stops or interrupts all from the terminal does not reach us; ended with it.
    os.setsid()
    _libc.prctl(_PDEATHSIG, signal.SIGKILL)
    was_stopped = False
    place = f"/proc/{us}/stat"
    while not done[0] and os.getppid() == us:
        time.sleep(PAUSE)
        if _is_stopped(place):
            was_stopped = True
            os.kill(us, signal.SIGCONT)
    if was_stopped and os.getppid() == us:
        os.kill(us, signal.SIGSTOP)


def _is_stopped(place: str) -> bool:
    with suppress(OSError):
        file = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(file, 4096).rpartition(b") ")[2][:1] == b"T"
        finally:
            os.close(file)
    return False
