"""Compressed sections that are inflated in a thread before they are needed, while the program does other work."""

import contextlib
import os
import sys
from collections.abc import Callable
from threading import Lock, Thread

__all__ = ["DeferredBytes", "prefetch_all"]

_SWITCH_INTERVAL = 0.0002
"""Seconds after which a waiting thread gets the GIL while sections are inflated. Inflating releases it, but growing the
output takes it again: twelve times for ten megabytes, and with the default interval of 5 ms these waits take longer
than all the rest."""

_ONE_AT_A_TIME = Lock()


class DeferredBytes:
    """Bytes that a thread will inflate, unless they are needed before it has started."""

    def __init__(self, unpack: Callable[[], bytes]) -> None:
        self._unpack = unpack
        self._busy = Lock()
        self._asked = False
        self._data: bytes | None = None

    def load(self) -> None:
        """Inflate them. Errors are ignored: whoever needs the bytes inflates them again and gets the error."""
        with self._busy, contextlib.suppress(Exception):
            if not self._asked:
                self._data = self._unpack()

    def data(self) -> bytes | None:
        """The bytes, after waiting for a running inflation; None if the caller has to inflate them."""
        with self._busy:
            self._asked = True
            return self._data


def prefetch_all(deferred: list[DeferredBytes]) -> Callable[[], None]:
    """Inflate all in one thread, in this order, if there is a second CPU; the result is called to wait for its end."""

    def work() -> None:
        # Threads run one after the other, so that each restores the interval that was set before all of them.
        with _ONE_AT_A_TIME:
            interval = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_INTERVAL)
            try:
                for one in deferred:
                    one.load()
            finally:
                sys.setswitchinterval(interval)

    if deferred and len(os.sched_getaffinity(0)) > 1:
        thread = Thread(target=work)
        # The system may have no more threads for us.
        with contextlib.suppress(RuntimeError):
            thread.start()
            return thread.join
    return lambda: None
