"""Results that are computed beside the server's threads: each once, kept for a while, given up if nobody waits.

A computation goes on as long as somebody asks for it; a page asks every second. One that nobody has asked for in
PATIENCE is outdated, as when its page chose something else, and is ended: what it waits for in the database is
interrupted, and it ends at its next step.
"""

import threading
import time
from collections.abc import Callable, Mapping

from undwarf.errors import UndwarfError

PATIENCE = 6.0
"""Seconds. Browsers let a page that is not seen run once a second."""
AT_ONCE = 2
MOST_RESULTS = 24
MOST_BYTES = 256 << 20
"""Of all results that are kept, the newest apart."""
_AGAIN = 1.0
"""Seconds after which a failed computation is tried again."""


class Outdated(Exception):
    """Nobody waits for this computation any more."""


class Computation:
    """What is computed under a key. ``stage`` says in words what it does now; then either ``parts`` or ``problem``."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.stage = "waiting for other computations"
        self.parts: Mapping[str, bytes] | None = None
        self.problem: UndwarfError | None = None
        self.started = self.asked = time.monotonic()
        self.ended = 0.0
        self.is_outdated = False
        self._done = threading.Event()
        self._interrupt: Callable[[], None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a result or a problem."""
        return self._done.is_set()

    @property
    def size(self) -> int:
        """Bytes of the result."""
        return sum(map(len, self.parts.values())) if self.parts is not None else 0

    def wait(self, seconds: float) -> bool:
        """Wait for the result, of somebody who asks for it; whether it is there."""
        self.asked = time.monotonic() + seconds
        return self._done.wait(seconds)

    def watch(self, patience: float) -> None:
        """Give it up once nobody has asked for it for so long, in seconds, unless it ends before."""
        while not self._done.wait(min(1.0, patience / 2)):
            if time.monotonic() - self.asked > patience:
                self.give_up()
                return

    def step(self, stage: str, interrupt: Callable[[], None] | None = None) -> None:
        """The next step begins, which ``interrupt`` ends early. Raises Outdated."""
        self._interrupt = interrupt
        self.stage = stage
        if self.is_outdated:
            raise Outdated

    def give_up(self) -> None:
        """Nobody waits any more."""
        self.is_outdated = True
        interrupt = self._interrupt
        if interrupt is not None:
            interrupt()

    def end(self, parts: Mapping[str, bytes] | None, problem: UndwarfError | None) -> None:
        """The computation has ended."""
        self._interrupt = None
        self.parts, self.problem = parts, problem
        self.ended = time.monotonic()
        self._done.set()


Work = Callable[[Computation], Mapping[str, bytes]]


class Computations:
    """Computations by key; the results of the last ones are kept."""

    def __init__(self, *, most: int = MOST_RESULTS, most_bytes: int = MOST_BYTES, patience: float = PATIENCE) -> None:
        self._most, self._most_bytes, self._patience = most, most_bytes, patience
        self._known: dict[str, Computation] = {}
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def get(self, key: str, work: Work) -> Computation:
        """The computation with this key, which is started unless it is there."""
        with self._lock:
            one = self._known.pop(key, None)
            failed = one is not None and one.problem is not None and time.monotonic() - one.ended > _AGAIN
            if one is None or failed or one.is_outdated:
                one = Computation(key)
                threading.Thread(target=self._run, args=(one, work), daemon=True).start()
                threading.Thread(target=one.watch, args=(self._patience,), daemon=True).start()
            one.asked = time.monotonic()
            # The last that was asked for is the last one to be forgotten.
            self._known[key] = one
            self._forget()
            return one

    def known(self, key: str) -> Computation | None:
        """The computation with this key, if it is still there."""
        with self._lock:
            return self._known.get(key)

    def _run(self, one: Computation, work: Work) -> None:
        parts: Mapping[str, bytes] | None = None
        problem: UndwarfError | None = None
        with self._free:
            try:
                one.step("starting")
                parts = work(one)
            except Outdated:
                problem = UndwarfError("the computation was ended", "nobody waited for it", "reload the page")
            except UndwarfError as error:
                problem = error
            except Exception as error:  # noqa: BLE001 - the page shows it, and the server goes on
                problem = UndwarfError("this cannot be computed", f"{type(error).__name__}: {error}")
        one.end(parts, problem)
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        """Forget the results that were asked for longest ago, beyond the bounds."""
        done = [one for one in self._known.values() if one.is_done]
        size = sum(one.size for one in done)
        for one in done[:-1]:
            if len(self._known) <= self._most and size <= self._most_bytes:
                return
            size -= one.size
            del self._known[one.key]
