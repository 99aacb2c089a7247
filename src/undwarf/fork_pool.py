"""Maps a function over a list in two processes, one from each end.

For work in Python that holds the GIL, as type resolution does. The child is forked after the first items, so that it
shares what they read; it works from the end of the list towards the parent and returns its results through a pipe when
they meet. Neighbours in the list stay in one process: with functions and units in order, both look only at those where
they meet. The parent computes itself what a child does not return.
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
"""Pieces a list is cut into at most: a pipe holds a byte for each."""
_SMALLEST = 8
_WHOLE = b"whole"
"""Ends the answers of the second process, if it came to their end."""
_WORTH = 1000
"""Items below which a second process costs more than it brings: 600 are followed in 0.15 s, and it takes 0.07."""


def may_fork() -> bool:
    """Whether there is a second cpu for us, and no other thread that may hold a lock which nobody would release."""
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
    """``work`` of 0 to ``count`` - 1, in this order, whoever did it; ``alone``: this process.

    ``ready``, asked after some items are done, says whether a second process may be made; ``notes`` is what that has
    to tell beside its answers, and ``take`` is given that here. Both must be plain: tuples, lists, text and numbers
    without classes of their own; ``packed`` and ``unpacked`` make answers so and back. ``meanwhile`` is something else
    that this process has to do, which is done as soon as the second one is at work. ``progress`` is told how many items
    are done, about.
    """
    reap_workers()
    size = max(_SMALLEST, -(-count // _PIECES))
    pieces = [range(low, min(low + size, count)) for low in range(0, count, size)]
    done: dict[int, Done] = {}
    several = count >= _WORTH and not alone and _cpus() > 1
    if several:
        # What is read of a whole file for the first question about it is read before they part. With more pieces, that
        # have two thirds of the types that all use, both wait for what one of them could do: fewer seconds of the cpus,
        # a twentieth more of the clock's.
        for k in pieces.pop(len(pieces) // 2):
            done[k] = work(k)
    second = _Second(pieces, lambda k: packed(work(k)), notes) if several and ready() and may_fork() else None
    try:
        if second is not None:
            meanwhile()
        for piece in pieces:
            if second is not None and not second.leaves_one():
                break
            progress(min(count, len(done) * (2 if second is not None else 1)))
            for k in piece:
                done[k] = work(k)
        if second is not None:
            brought = second.brings()
            if brought is not None:
                done.update((k, unpacked(plain)) for k, plain in brought[0].items())
                take(brought[1])
    finally:
        if second is not None:
            second.end()
    for k in range(count):
        if k not in done:
            done[k] = work(k)
    return [done[k] for k in range(count)]


_ending: list[int] = []
"""Processes that brought their answers and still take their memory down; meanwhile there is something else to do."""


def reap_workers() -> None:
    """Wait for the processes that brought their answers, before this one ends: else their time would be nobody's."""
    while _ending:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(_ending.pop(), 0)


class _Second:
    """The process that begins at the end of the list.

    Each of the two takes a token from a pipe for each piece it begins, and there are as many as pieces: so no piece is
    begun twice, and they need not say which ones they have.
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
        # Whatever happens here ends here: neither the other's output nor its clean-up is ours.
        code = 1
        try:
            os.close(self._answers)
            done: Any = {}
            for piece in reversed(pieces):
                if os.getppid() != parent or not self.leaves_one():
                    break
                for k in piece:
                    done[k] = work(k)
            with os.fdopen(answers, "wb") as sink:
                sink.write(marshal.dumps((done, notes())) + _WHOLE)
            code = 0
        except BaseException:  # noqa: BLE001 - the first process meets the same, and says so
            pass
        finally:
            os._exit(code)

    def leaves_one(self) -> bool:
        """Whether there is a piece left for who asks; then it is theirs."""
        return bool(os.read(self._tokens, 1))

    def brings(self) -> "tuple[dict[int, object], object] | None":
        """What was done there, and its notes; None where it ended early."""
        with os.fdopen(os.dup(self._answers), "rb") as source:
            data = source.read()
        if not data.endswith(_WHOLE):
            return None
        _ending.append(self._pid)
        self._pid = 0
        found: tuple[dict[int, object], object] = marshal.loads(data)
        return found

    def end(self) -> None:
        """Let go of the process, whether it is done or not."""
        os.close(self._tokens)
        os.close(self._answers)
        if self._pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
