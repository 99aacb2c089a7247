"""Maps a function over a list in two processes, one from each end.

For Python code that holds the GIL, such as type resolution. The child is forked after the first items, so that it
shares what was read for them; it works from the end of the list towards the parent and returns its results through a
pipe when they meet. Neighbours in the list stay in one process: with items sorted by function and unit, only those
where they meet are read by both. The parent computes what a child does not return.
"""

import contextlib
import marshal
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["forked_map", "may_fork", "reap_workers"]

Done = TypeVar("Done")

_PIECES = 256
"""Maximum pieces of a list; a pipe has a byte for each."""
_SMALLEST = 8
_WHOLE = b"whole"
"""Ends the child's results, if they are complete."""
_WORTH = 1000
"""Minimum items for a child: 600 are resolved in 0.15 s, and a child costs 0.07 s."""


def may_fork() -> bool:
    """Whether there is a second CPU, and no other thread that may hold a lock: in the child it would stay locked."""
    return threading.active_count() == 1 and _cpus() > 1


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def forked_map(
    count: int,
    work: Callable[[int], Done],
    *,
    alone: bool = False,
    packed: Callable[[Done], object] = lambda done: done,
    unpacked: Callable[[Any], Done] = lambda plain: plain,
    ready: Callable[[], bool] = lambda: True,
    notes: Callable[[], Any] = lambda: None,
    take: Callable[[object], None] = lambda _notes: None,
    meanwhile: Callable[[], object] = lambda: None,
    progress: Callable[[int], None] = lambda _done: None,
) -> list[Done]:
    """[work(0), ..., work(count - 1)]; ``alone``: without a child.

    ``ready`` is called after some items and decides whether to fork. ``notes`` is called in the child at its end, and
    ``take`` with its value in the parent. Notes and results must be plain for marshal: tuples, lists, text and numbers;
    ``packed`` and ``unpacked`` convert results. ``meanwhile`` is called in the parent as soon as the child runs,
    ``progress`` with the approximate number of finished items.
    """
    reap_workers()
    size = max(_SMALLEST, -(-count // _PIECES))
    pieces = [range(low, min(low + size, count)) for low in range(0, count, size)]
    done: dict[int, Done] = {}
    several = count >= _WORTH and not alone and _cpus() > 1
    if several:
        # One piece before the fork: what is read once per file is then shared. With more pieces, which need two thirds
        # of all types, less is done twice, but it is done serially: less CPU time, but 5 % more wall time.
        for k in pieces.pop(len(pieces) // 2):
            done[k] = work(k)
    child = _Child(pieces, lambda k: packed(work(k)), notes) if several and ready() and may_fork() else None
    try:
        if child is not None:
            meanwhile()
        for piece in pieces:
            if child is not None and not child.take_token():
                break
            progress(min(count, len(done) * (2 if child is not None else 1)))
            for k in piece:
                done[k] = work(k)
        if child is not None:
            returned = child.results()
            if returned is not None:
                done.update((k, unpacked(plain)) for k, plain in returned[0].items())
                take(returned[1])
    finally:
        if child is not None:
            child.end()
    for k in range(count):
        if k not in done:
            done[k] = work(k)
    return [done[k] for k in range(count)]


_ending: list[int] = []
"""Children that have returned their results and are still exiting, which takes a while."""


def reap_workers() -> None:
    """Wait for children that have returned their results, so that their CPU time is accounted to this process."""
    while _ending:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(_ending.pop(), 0)


class _Child:
    """The child, which starts at the end of the list.

    Both processes take a token from a pipe for each piece they start, and there are as many tokens as pieces: so they
    do not overlap, without further communication.
    """

    def __init__(self, pieces: list[range], work: Callable[[int], object], notes: Callable[[], Any]) -> None:
        self._tokens, tokens = os.pipe()
        self._answers, answers = os.pipe()
        os.write(tokens, bytes(len(pieces)))
        os.close(tokens)
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid:
            os.close(answers)
            return
        # The child always ends here: it must not run the parent's clean-up or flush its output.
        code = 1
        try:
            os.close(self._answers)
            done: Any = {}
            for piece in reversed(pieces):
                if os.getppid() != parent or not self.take_token():
                    break
                for k in piece:
                    done[k] = work(k)
            with os.fdopen(answers, "wb") as sink:
                sink.write(marshal.dumps((done, notes())) + _WHOLE)
            code = 0
        except BaseException:  # noqa: BLE001 - the parent computes the same, and raises
            pass
        finally:
            os._exit(code)

    def take_token(self) -> bool:
        """Claim a piece for the calling process; False if none is left."""
        return bool(os.read(self._tokens, 1))

    def results(self) -> "tuple[dict[int, object], object] | None":
        """(results by index, notes) of the child; None if it ended early."""
        with os.fdopen(os.dup(self._answers), "rb") as source:
            data = source.read()
        if not data.endswith(_WHOLE):
            return None
        _ending.append(self._pid)
        self._pid = 0
        found: tuple[dict[int, object], object] = marshal.loads(data)
        return found

    def end(self) -> None:
        """Close the pipes, and kill the child if it is not done."""
        os.close(self._tokens)
        os.close(self._answers)
        if self._pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
