# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""perf's rounds: records after a FINISHED_ROUND are not older than the newest one of the round before it.

Source: ``process_finished_round`` in ``tools/perf/util/session.c``, ``ordered-events.c``.
"""

import cython


@cython.final
@cython.cclass
class Rounds:
    """The newest time, and the time up to which records are complete; ``unordered`` counts older ones that follow."""

    def __init__(self) -> None:
        self.unordered = 0
        self.restart()

    def restart(self) -> None:
        """Reset: each file of a directory is written by a separate thread."""
        self.newest = self._flushed = self._next_flush = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def finish(self) -> cython.int:
        """Handle a FINISHED_ROUND."""
        self._flushed = self._next_flush
        self._next_flush = self.newest
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def delivery(self, time: cython.ulonglong) -> cython.ulonglong:
        """The effective time of a record: its own, or without one that of the last complete round."""
        if time == 0 or ~time == 0:
            return self._flushed
        if time > self.newest:
            self.newest = time
        if time < self._flushed:
            self.unordered += 1
        return time
