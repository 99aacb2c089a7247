# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Memory of the process that a sample was taken in: its stack dump, what can be read of it while it runs or from a core
file, read-only data of mapped files."""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_state import STATE, LiveMemory

from undwarf.column import zeros
from undwarf.unwind.image_table import Places
from undwarf.unwind.rule_cache import RuleCache

LIVE_BLOCK = cython.declare(cython.ulonglong, 1 << 16)
"""Bytes read at once of a process's memory behind the end of a dump."""
LIVE_REACH = cython.declare(cython.ulonglong, 8 << 20)
"""How far behind the end of a dump memory is read: the usual limit of a stack."""


@cython.cclass
class Memory:
    """Words at addresses of the process at hand.

    A word that is not to be had sets ``fault`` to a stop reason. What is read in the dump moves ``top``, what is read
    elsewhere sets ``odd``.
    """

    window: Any
    fault: cython.int
    live: Any
    deep: Any
    live_block: Any

    def __init__(
        self,
        source: Places,
        spaces: dict[str, memoryview],
        image_count: int,
        limits: Any,
        runtime: bool,
        kernel_image: int,
    ) -> None:
        self.rules = RuleCache(source, spaces, image_count, runtime, kernel_image)
        self.max_frames = limits.max_frames
        self.number = 0
        self.dump = 0
        self.low = self.high = self.top = 0
        self.ended_early = False
        self.fresh_count = 0
        self.fresh = zeros("Q", STATE * (self.max_frames + 1))
        self.live = None
        self.deep = None
        self.trial = False
        self.alike = False
        self.live_block = zeros("B", 0)
        self.live_state = LiveMemory.UNUSED
        self.live_whole = False
        self.tried_scheduler = 0

    def see_live(self, memory: Any) -> None:
        """Go on reading where a dump ends: ``memory(sample, start, end)`` gives the bytes of the sample's process from
        ``start`` on, to ``end`` at least, as they were at the time of the sample; or None."""
        self.live = memory
        self.live_whole = True

    def see_deep(self, deep: Any) -> None:
        """Go on in the memory of running processes where a dump ends:
        :class:`undwarf.live.sampling.stack_continuation.DeepStacks`."""
        self.deep = deep
        self.proof_slots = zeros("Q", self.max_frames + 1)
        self.proof_values = zeros("Q", self.max_frames + 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the process; sets ``fault`` to a stop reason if it is not to be had."""
        if self.low <= address and address < self.high and self.high - address >= 8:
            if address >= self.top:
                self.top = address + 8
            # low and high bound the part of the dump that lies in the window (checked when the sample was opened).
            return cython.cast(
                cython.p_ulonglong,
                cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, address - self.low)]),
            )[0]
        return self.load_elsewhere(address)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load_elsewhere(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of memory that is not in the dump, or of read-only file data; sets ``fault`` if there is none."""
        entry: cython.Py_ssize_t
        image: cython.Py_ssize_t
        offset: cython.ulonglong
        self.odd = True
        if self.live_whole:
            if (
                self.live_low <= address and address < self.live_high and self.live_high - address >= 8
            ) or self.read_live(address, address + 8):
                return self.live_word(address)
        elif self.live_state != LiveMemory.REFUSED and address >= self.high and address - self.high < LIVE_REACH:
            if self.live_state == LiveMemory.UNUSED:
                self.live_state = LiveMemory.REFUSED
                if self.deep is not None and self.high > self.low:
                    self.open_live(address)
            if self.live_state == LiveMemory.OPEN:
                return self.load_live(address)
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
        """A word of read-only file data; sets ``fault`` if there is none. Apart from who asks: what has Python objects
        takes the GIL at every call."""
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
    def read_live(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.bint:
        """Read the process's memory from ``start`` to behind ``end``; False if that cannot be done."""
        done: cython.bint
        with cython.gil:
            done = self._live_bytes(start, end)
        if done:
            self.live_low = start
            self.live_high = start + cython.cast(cython.ulonglong, self.live_block.shape[0])
        return done

    @cython.cfunc
    @cython.exceptval(-1)
    def _live_bytes(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.bint:
        """Have the process's memory read; False if that cannot be done."""
        block = self.live(self.number, start, end + LIVE_BLOCK)
        if block is None or len(block) < end - start:
            return False
        self.live_block = block
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def live_word(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the block that was read; 0 outside, which no return address is."""
        if address < self.live_low or address >= self.live_high or self.live_high - address < 8:
            return 0
        return cython.cast(
            cython.p_ulonglong, cython.address(self.live_block[cython.cast(cython.Py_ssize_t, address - self.live_low)])
        )[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def open_live(self, address: cython.ulonglong) -> cython.int:
        """Ask for the process's stack behind the dump, where the word at ``address`` is wanted first, with the return
        addresses in the dump that prove it."""
        count: cython.Py_ssize_t = self.proofs()
        done: cython.bint = False
        if count:
            with cython.gil:
                done = self._deep_bytes(count, address)
        if done:
            self.live_state = LiveMemory.OPEN
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_scheduler(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        """Have the process's stack from ``start`` on, the end of the frame between Haskell code and its scheduler,
        whose stack pointer is ``scheduler``, where nothing else of it was read yet."""
        if self.live_state == LiveMemory.UNUSED:
            with cython.gil:
                self._scheduler_bytes(start, scheduler)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _scheduler_bytes(self, start: cython.ulonglong, scheduler: cython.ulonglong) -> cython.int:
        self.live_state = LiveMemory.REFUSED
        found = self.deep.scheduler(self.number, start)
        if found is not None:
            self.live_low = start
            self.live_block = found
            self.live_high = start + cython.cast(cython.ulonglong, self.live_block.shape[0])
            self.live_state = LiveMemory.OPEN
            self.trial = self.deep.trial
            self.tried_scheduler = scheduler if self.trial else 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def proofs(self) -> cython.Py_ssize_t:
        """Collect the return addresses of the frames so far, and their places; returns how many."""
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        slot: cython.ulonglong
        word: cython.ulonglong
        for i in range(1, self.fresh_count):
            slot = self.fresh[STATE * i + 1] - 8
            # Frames entered by signals, and those on other stacks, have no such place.
            if slot < self.low or (count and slot <= self.proof_slots[count - 1]):
                continue
            if slot < self.high and self.high - slot >= 8:
                word = cython.cast(
                    cython.p_ulonglong,
                    cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, slot - self.low)]),
                )[0]
            else:
                word = self.live_word(slot)
            if word and word == self.fresh[STATE * i]:
                self.proof_slots[count] = slot
                self.proof_values[count] = self.fresh[STATE * i]
                count += 1
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load_live(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of the process's own memory behind the dump."""
        inside: cython.bint = self.live_low <= address and address < self.live_high and self.live_high - address >= 8
        if not inside and self.trial:
            with cython.gil:
                inside = self._more_bytes(address)
        if not inside:
            self.fault = StopReason.TRUNCATED
            return 0
        return self.live_word(address)

    @cython.cfunc
    @cython.exceptval(-1)
    def _deep_bytes(self, count: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Have memory behind the dump, for which ``count`` return addresses in the dump stand; False without."""
        found = self.deep.beyond(
            self.number,
            memoryview(self.proof_slots)[:count],
            memoryview(self.proof_values)[:count],
            self.low,
            self.high,
            address,
        )
        if found is None:
            return False
        self.live_low = found[0]
        self.live_block = found[1]
        self.live_high = self.live_low + cython.cast(cython.ulonglong, self.live_block.shape[0])
        self.trial = self.deep.trial
        self.alike = self.deep.alike
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _more_bytes(self, address: cython.ulonglong) -> cython.bint:
        """During a trial, have more of it, up to behind ``address``; False without."""
        count: cython.Py_ssize_t = self.proofs()
        found = self.deep.more(address, memoryview(self.proof_slots)[:count], memoryview(self.proof_values)[:count])
        if found is None:
            return False
        self.live_block = found
        self.live_high = self.live_low + cython.cast(cython.ulonglong, self.live_block.shape[0])
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _end_trial(self, root: cython.bint) -> cython.int:
        """Say whether a trial led to the root."""
        i: cython.Py_ssize_t
        if self.tried_scheduler == 0:
            self.deep.tried(bool(root))
            return 0
        slot: cython.ulonglong = 0
        value: cython.ulonglong = 0
        for i in range(self.fresh_count - 1):
            if self.fresh[STATE * i + 1] == self.tried_scheduler:
                slot = self.fresh[STATE * (i + 1) + 1] - 8
                value = self.fresh[STATE * (i + 1)]
        self.deep.tried_scheduler(bool(root), slot, value)
        self.tried_scheduler = 0
        return 0
