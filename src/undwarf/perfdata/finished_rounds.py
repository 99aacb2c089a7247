# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The rounds in which perf writes records: after FINISHED_ROUND none is older than the newest of the round before.

Source: ``process_finished_round`` in ``tools/perf/util/session.c``, ``ordered-events.c``.
"""

import cython


@cython.final
@cython.cclass
class Rounds:
    """The newest time so far, and up to which time records are complete. ``unordered`` counts those that are older."""

    def __init__(self) -> None:
        self.unordered = 0
        self.restart()

    def restart(self) -> None:
        """Begin anew: each file of a directory is written by a thread of its own."""
        self.newest = self._flushed = self._next_flush = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def finish(self) -> cython.int:
        """A round ends."""
        self._flushed = self._next_flush
        self._next_flush = self.newest
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def delivery(self, time: cython.ulonglong) -> cython.ulonglong:
        """When a record counts as delivered: at its time, or without one when the last complete round was."""
        if time == 0 or ~time == 0:
            return self._flushed
        if time > self.newest:
            self.newest = time
        if time < self._flushed:
            self.unordered += 1
        return time
