"""Compressed sections that a thread unpacks while the program does something else, as to import what reads them."""

import contextlib
import os
import sys
from collections.abc import Callable
from threading import Lock, Thread

__all__ = ["Promise", "keep_all"]

_TURN = 0.0002
"""Seconds after which who waits for the GIL gets it while sections are unpacked. That goes on without it, but room for
what comes out is made with it: twelve times for ten megabytes, and at the usual 5 ms each that takes longer than all of
the rest."""

_ONE = Lock()


class Promise:
    """Bytes that a thread is going to unpack, unless somebody asks for them before it has begun."""

    def __init__(self, unpack: Callable[[], bytes]) -> None:
        self._unpack = unpack
        self._busy = Lock()
        self._asked = False
        self._data: bytes | None = None

    def keep(self) -> None:
        """Unpack them. What goes wrong is left to who asks for them: it is met there again, and told."""
        with self._busy, contextlib.suppress(Exception):
            if not self._asked:
                self._data = self._unpack()

    def data(self) -> bytes | None:
        """The bytes, waited for if they are being unpacked; None where who asks is to do that."""
        with self._busy:
            self._asked = True
            return self._data


def keep_all(promises: list[Promise]) -> Callable[[], None]:
    """Keep promises one after the other in a thread, if another cpu is there; what is returned waits for its end."""

    def keep() -> None:
        # One thread after the other: each finds the turn as long as it was before all of them.
        with _ONE:
            turn = sys.getswitchinterval()
            sys.setswitchinterval(_TURN)
            try:
                for one in promises:
                    one.keep()
            finally:
                sys.setswitchinterval(turn)

    if promises and len(os.sched_getaffinity(0)) > 1:
        thread = Thread(target=keep)
        # Where the system has no more threads for us.
        with contextlib.suppress(RuntimeError):
            thread.start()
            return thread.join
    return lambda: None
