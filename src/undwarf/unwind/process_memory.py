# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Memory of the process that a sample was taken in: its stack dump, memory read while the process runs or from a core
file, and read-only data of mapped files."""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.frame_states import FrameStatePointer, state_at
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import LiveState

from undwarf.unwind.frame_states import FrameStates
from undwarf.unwind.live_memory import LiveMemory
from undwarf.unwind.rule_cache import RuleCache

STACK_LIMIT = cython.declare(cython.ulonglong, 8 << 20)
"""Bytes above the dump that may still be of the same stack: the usual limit of a stack."""


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
        self.unshareable = False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def record_word(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """The 8 bytes at an offset of the window, which need not be aligned."""
        if at < 0 or at > self.window.shape[0] - 8:
            with cython.gil:
                raise IndexError(at)
        return cython.cast(cython.p_ulonglong, cython.address(self.window[at]))[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the process; sets ``fault`` if it cannot be read."""
        if self.low <= address and address < self.high and self.high - address >= 8:
            if address >= self.read_end:
                self.read_end = address + 8
            # low and high bound the part of the dump that lies in the window (checked when the sample was opened).
            return cython.cast(
                cython.p_ulonglong,
                cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, address - self.low)]),
            )[0]
        return self._load_elsewhere(address)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _load_elsewhere(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of memory that is not in the dump, or of read-only file data; sets ``fault`` if there is none."""
        entry: cython.Py_ssize_t
        image: cython.Py_ssize_t
        offset: cython.ulonglong
        self.unshareable = True
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
        entry = self.rules.mapping(self.rules.space, address)
        if entry < 0:
            self.fault = (
                StopReason.TRUNCATED
                if address >= self.high and self.high - self.low > 0
                else StopReason.UNREADABLE_MEMORY
            )
            return 0
        image = self.rules.images[entry]
        offset = address - self.rules.starts[entry] + self.rules.offsets[entry]
        with cython.gil:
            return self._file_word(image, offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def _file_word(self, image: cython.Py_ssize_t, offset: cython.ulonglong) -> cython.ulonglong:
        """A word of read-only file data; sets ``fault`` if there is none. A function of its own, since one with Python
        objects takes the GIL at every call."""
        if self.rules.image_state[image] == 0:
            self.rules.load_image(image)
        found = self.rules.source.read(image, self.rules.stated(image, offset))
        if found is None:
            self.fault = StopReason.UNREADABLE_MEMORY
            return 0
        word: cython.ulonglong = found
        return word

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _request_continuation(self, address: cython.ulonglong) -> cython.int:
        """Request the process's stack above the dump, for the word at ``address``."""
        proofs: cython.Py_ssize_t = self._collect_proofs()
        if proofs:
            with cython.gil:
                self.live.request(proofs, self.low, self.high, address)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
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

    @cython.cfunc
    @cython.exceptval(-1)
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
