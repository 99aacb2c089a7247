# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Memory of the process that a sample was taken in: its stack dump, memory read while the process runs or from a core
file, and read-only data of mapped files."""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.native_integers import u64
from cython.cimports.undwarf.unwind.register_file import FrameStatePointer, state_at
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import STACK_LIMIT, ImageState, LiveState

from undwarf.column import zeros
from undwarf.unwind.register_file import FrameStates
from undwarf.unwind.rule_cache import RuleCache

BLOCK = cython.declare(cython.ulonglong, 1 << 16)
"""Bytes that are read at once."""


@cython.final
@cython.cclass
class LiveMemory:
    """The block of memory that was read last for the current sample. Python is called for each block, with the GIL."""

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

    def begin(self, sample: cython.Py_ssize_t) -> cython.int:
        """Nothing is read yet for this sample."""
        self.sample = sample
        self.state = LiveState.NOT_REQUESTED
        self.unproven = False
        self.scheduler = 0
        self.low = 0
        self.high = 0
        return 0

    def holds(self, address: cython.ulonglong) -> cython.bint:
        """Whether the word at an address was read."""
        return self.low <= address and address < self.high and self.high - address >= 8

    def word(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the block; 0 outside, which no return address is."""
        if not self.holds(address):
            return 0
        return cython.cast(
            cython.p_ulonglong, cython.address(self.block[cython.cast(cython.Py_ssize_t, address - self.low)])
        )[0]

    def read(self, address: cython.ulonglong) -> cython.bint:
        """Read the process's memory as it was, from ``address`` on; False where that cannot be done."""
        with cython.gil:
            return self._read(address)

    def _read(self, address: cython.ulonglong) -> cython.bint:
        block = self.reader(self.sample, address, address + 8 + BLOCK)
        if block is None or len(block) < 8:
            return False
        self._take(block, address)
        return True

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

    def extend(self, proofs: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Read on in unproven memory, to the end of the word at ``address``; False where that cannot be done."""
        found = self.continuation.more(
            address, memoryview(self.slots)[:proofs], memoryview(self.return_addresses)[:proofs]
        )
        if found is None:
            return False
        self._take(found, self.low)
        return True

    def read_scheduler(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        """Request the stack from ``start`` on, the end of the frame between Haskell code and its scheduler, whose stack
        pointer is ``scheduler``, unless something was requested for this sample before."""
        if self.state == LiveState.NOT_REQUESTED:
            with cython.gil:
                self._request_scheduler(start, scheduler)
        return 0

    def _request_scheduler(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        self.state = LiveState.REFUSED
        found = self.continuation.scheduler(self.sample, start)
        if found is not None:
            self._take(found, start)
            self.state = LiveState.READABLE
            self.unproven = self.continuation.trial
            self.scheduler = scheduler if self.unproven else 0
        return 0

    def _take(self, block: object, start: cython.ulonglong) -> cython.int:
        self.block = block
        self.low = start
        self.high = start + cython.cast(cython.ulonglong, self.block.shape[0])
        return 0


@cython.final
@cython.cclass
class ProcessMemory:
    """Words at addresses of the process.

    A word that cannot be read sets ``fault`` to a stop reason. A read in the dump moves ``read_end``, one elsewhere
    sets ``unshareable``.
    """

    window: Any
    fault: cython.int

    def __init__(self, rules: RuleCache, states: FrameStates, max_frames: int) -> None:
        self.rules = rules
        self.states = states
        self.live = LiveMemory(max_frames)
        self.dump = 0
        self.low = self.high = self.read_end = 0
        self.fault = 0
        self.unshareable = self.confined = False

    def record_word(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """The word at an offset of the window; 0 outside."""
        return u64(cython.address(self.window[0]), self.window.shape[0], at)

    def load(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the process; sets ``fault`` if it cannot be read."""
        if self.low <= address and address < self.high and self.high - address >= 8:
            if address >= self.read_end:
                self.read_end = address + 8
            # low and high bound the part of the dump that is in the window (checked when the sample was opened).
            return cython.cast(
                cython.p_ulonglong,
                cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, address - self.low)]),
            )[0]
        return self._load_elsewhere(address)

    def value(self, address: int, size: int) -> int | None:
        """4 or 8 bytes at an address of the process; None where they cannot be read."""
        found: cython.ulonglong
        self.fault = 0
        found = self.load(address)
        if self.fault:
            self.fault = 0
            return None
        return found & 0xFFFFFFFF if size == 4 else found

    def _load_elsewhere(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of memory that is not in the dump, or of read-only file data; sets ``fault`` if there is none."""
        entry: cython.Py_ssize_t
        image: cython.Py_ssize_t
        offset: cython.ulonglong
        self.unshareable = True
        if self.confined:
            self.fault = StopReason.TRUNCATED if address >= self.high else StopReason.UNREADABLE_MEMORY
            return 0
        if self.live.has_reader:
            if self.live.holds(address) or self.live.read(address):
                return self.live.word(address)
        elif self.live.state != LiveState.REFUSED and address >= self.high and address - self.high < STACK_LIMIT:
            if self.live.state == LiveState.NOT_REQUESTED:
                self.live.state = LiveState.REFUSED
                if self.live.continuation is not None and self.high > self.low:
                    self._request_continuation(address)
            if self.live.state == LiveState.READABLE:
                return self._load_continued(address)
        entry = self.rules.mapping(address)
        if entry < 0:
            self.fault = (
                StopReason.TRUNCATED
                if address >= self.high and self.high - self.low > 0
                else StopReason.UNREADABLE_MEMORY
            )
            return 0
        image = self.rules.spaces.images[entry]
        offset = address - self.rules.spaces.starts[entry] + self.rules.spaces.offsets[entry]
        with cython.gil:
            return self._file_word(image, offset)

    def _file_word(self, image: cython.Py_ssize_t, offset: cython.ulonglong) -> cython.ulonglong:
        """A word of read-only file data; sets ``fault`` if there is none. A function of its own, since one with Python
        objects takes the GIL at every call."""
        if self.rules.image_state[image] == ImageState.NOT_LOADED:
            self.rules.load_image(image)
        found = self.rules.source.read(image, self.rules.stated_address(image, offset))
        if found is None:
            self.fault = StopReason.UNREADABLE_MEMORY
            return 0
        word: cython.ulonglong = found
        return word

    def _load_continued(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of the process's stack above the dump, which was requested."""
        readable: cython.bint = self.live.holds(address)
        proofs: cython.Py_ssize_t
        if not readable and self.live.unproven:
            proofs = self._collect_proofs()
            with cython.gil:
                readable = self.live.extend(proofs, address)
        if not readable:
            self.fault = StopReason.TRUNCATED
            return 0
        return self.live.word(address)

    def _request_continuation(self, address: cython.ulonglong) -> cython.int:
        """Request the process's stack above the dump, for the word at ``address``."""
        proofs: cython.Py_ssize_t = self._collect_proofs()
        if proofs:
            with cython.gil:
                self.live.request(proofs, self.low, self.high, address)
        return 0

    def _collect_proofs(self) -> cython.Py_ssize_t:
        """Collect the return addresses of the frames so far that are on the stack, and where; returns how many."""
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        slot: cython.ulonglong
        word: cython.ulonglong
        state: FrameStatePointer
        for i in range(1, self.states.count):
            state = state_at(self.states.words, i)
            slot = state.stack_pointer - 8
            # Frames entered by signals have no such slot, nor have those on other stacks.
            if slot < self.low or (count and slot <= self.live.slots[count - 1]):
                continue
            if slot < self.high and self.high - slot >= 8:
                word = cython.cast(
                    cython.p_ulonglong,
                    cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, slot - self.low)]),
                )[0]
            else:
                word = self.live.word(slot)
            if word and word == state.address:
                self.live.slots[count] = slot
                self.live.return_addresses[count] = word
                count += 1
        return count

    def end_unproven(self, is_whole: cython.bint) -> cython.int:
        """Report whether unproven memory has led to a root."""
        i: cython.Py_ssize_t
        slot: cython.ulonglong = 0
        return_address: cython.ulonglong = 0
        self.live.unproven = False
        if self.live.scheduler == 0:
            self.live.continuation.tried(bool(is_whole))
            return 0
        for i in range(self.states.count - 1):
            if state_at(self.states.words, i).stack_pointer == self.live.scheduler:
                slot = state_at(self.states.words, i + 1).stack_pointer - 8
                return_address = state_at(self.states.words, i + 1).address
        self.live.continuation.tried_scheduler(bool(is_whole), slot, return_address)
        self.live.scheduler = 0
        return 0
