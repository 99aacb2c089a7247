# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Memory of a sample's process beside its stack dump: from a core file, a stopped or a running process."""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.walk_constants import LiveState

from undwarf.column import zeros

BLOCK = cython.declare(cython.ulonglong, 1 << 16)
"""Bytes that are read at once."""


@cython.final
@cython.cclass
class LiveMemory:
    """The block of memory that was read last for the sample at hand. Python is called for each block, with the GIL."""

    reader: Any
    continuation: Any
    block: Any

    def __init__(self, max_frames: int) -> None:
        self.reader = None
        self.has_reader = False
        self.continuation = None
        self.agrees_with_dump = False
        self.block = zeros("B", 0)
        self.slots = zeros("Q", max_frames + 1)
        self.return_addresses = zeros("Q", max_frames + 1)
        self.begin(0)

    def read_with(self, reader: Any) -> None:
        """Read memory as it was: ``reader(sample, start, end)`` gives the bytes of the sample's process from ``start``
        on, to ``end`` at least, as they were at the time of the sample; or None."""
        self.reader = reader
        self.has_reader = reader is not None

    def continue_with(self, continuation: Any) -> None:
        """Continue stacks that are larger than their dump in the memory of running processes
        (:class:`undwarf.live.sampling.stack_continuation.DeepStacks`)."""
        self.continuation = continuation

    def take_over(self, other: LiveMemory) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Read as ``other`` does."""
        self.read_with(other.reader)
        self.continue_with(other.continuation)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begin(self, sample: cython.Py_ssize_t) -> cython.int:
        """Nothing is read yet for this sample."""
        self.sample = sample
        self.state = LiveState.NOT_REQUESTED
        self.unproven = False
        self.scheduler = 0
        self.low = 0
        self.high = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def holds(self, address: cython.ulonglong) -> cython.bint:
        """Whether the word at an address was read."""
        return self.low <= address and address < self.high and self.high - address >= 8

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def word(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the block; 0 outside, which no return address is."""
        if not self.holds(address):
            return 0
        return cython.cast(
            cython.p_ulonglong, cython.address(self.block[cython.cast(cython.Py_ssize_t, address - self.low)])
        )[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read(self, address: cython.ulonglong) -> cython.bint:
        """Read the process's memory as it was, from ``address`` on; False where that cannot be done."""
        with cython.gil:
            return self._read(address)

    @cython.cfunc
    @cython.exceptval(-1)
    def _read(self, address: cython.ulonglong) -> cython.bint:
        block = self.reader(self.sample, address, address + 8 + BLOCK)
        if block is None or len(block) < 8:
            return False
        self._take(block, address)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def request(
        self,
        proofs: cython.Py_ssize_t,
        low: cython.ulonglong,
        high: cython.ulonglong,
        address: cython.ulonglong,
    ) -> cython.int:
        """Request the stack above a dump of the addresses from ``low`` to ``high``, for the word at ``address``. The
        first ``proofs`` return addresses, which are on the stack in the dump, are the evidence that it is the same."""
        found = self.continuation.beyond(
            self.sample,
            memoryview(self.slots)[:proofs],
            memoryview(self.return_addresses)[:proofs],
            low,
            high,
            address,
        )
        if found is not None:
            self._take(found[1], found[0])
            self.unproven = self.continuation.trial
            self.agrees_with_dump = self.continuation.alike
            self.state = LiveState.READABLE
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def extend(self, proofs: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Read on in unproven memory, to the end of the word at ``address``; False where that cannot be done."""
        found = self.continuation.more(
            address, memoryview(self.slots)[:proofs], memoryview(self.return_addresses)[:proofs]
        )
        if found is None:
            return False
        self._take(found, self.low)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_scheduler(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        """Request the stack from ``start`` on, the end of the frame between Haskell code and its scheduler, whose stack
        pointer is ``scheduler``, unless something was requested for this sample before."""
        if self.state == LiveState.NOT_REQUESTED:
            with cython.gil:
                self._request_scheduler(start, scheduler)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _request_scheduler(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        self.state = LiveState.REFUSED
        found = self.continuation.scheduler(self.sample, start)
        if found is not None:
            self._take(found, start)
            self.state = LiveState.READABLE
            self.unproven = self.continuation.trial
            self.scheduler = scheduler if self.unproven else 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _take(self, block: object, start: cython.ulonglong) -> cython.int:
        self.block = block
        self.low = start
        self.high = start + cython.cast(cython.ulonglong, self.block.shape[0])
        return 0
