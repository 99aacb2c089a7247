# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The caller of a function whose return address is not at hand, found by code alone.

The registers are those after the return. Callers are the functions with a direct call of the function, and those that
a return address on the stack names as called: the one whose own rule at such a call leads to a return address that
proves itself.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_UNMAPPED

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

CALLER_SLOTS = cython.declare(cython.int, 96)
"""Words above the stack pointer in which the return address of the caller is looked for, after a return."""
SITE_WORDS = cython.declare(cython.Py_ssize_t, 3)
"""Words of a call: those that follow."""
ADDRESS = cython.declare(cython.int, 0)
"""The return address, counted from the table's base."""
FUNCTION = cython.declare(cython.int, 1)
"""Where its function starts, counted alike."""
COUNT = cython.declare(cython.int, 2)
"""In the first call of a table, how many it has."""


@cython.final
@cython.cclass
class CallerSearch:
    """Searches for one caller at a time; proofs and calls are kept for the next."""

    saved: Any
    sites: Any
    limit: int
    site: int
    function: int
    level: int
    least_level: int

    def __init__(self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile, stepper: FrameStepper) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.stepper = stepper
        self.tables = IntMap()
        self.proofs = IntMap()
        self.sites = zeros("q", SITE_WORDS * 64)
        self.site_count = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def find(self, frame: cython.uint, pc: cython.ulonglong) -> cython.int:
        """Find the frame to which the function of ``frame``, whose address is ``pc``, has returned, with the registers
        that were saved, and go to its caller; the CallLevel of the less proven of both calls. IMPOSSIBLE where there is
        none below ``limit``, or several functions are alike. Sets ``site``, the return address that is not at hand.

        Callers are those with a direct call of the function, and those that a return address on the stack names as
        called; of these the one with the nearest return address.
        """
        i: cython.int
        word: cython.ulonglong
        slot: cython.ulonglong
        sp: cython.ulonglong = self.registers.values[RSP]
        level: cython.int
        direct: cython.Py_ssize_t
        self.function = 0
        self.level = CallLevel.IMPOSSIBLE
        self.cfa = self.limit
        direct = self._sites_of(frame)
        # An indirect call of a function with direct callers may be that of such a caller, which has returned as well.
        self.least_level = CallLevel.POSSIBLE
        if self.sites[SITE_WORDS * direct + COUNT] > 0:
            self.least_level = CallLevel.PROVEN
        self._try_sites(direct, pc, 0, frame)
        for i in range(-1, CALLER_SLOTS):
            self.memory.fault = 0
            # First where the frame pointer has it, if it is one.
            slot = self.saved[RBP] + 8 if i < 0 else sp + 8 * cython.cast(cython.ulonglong, i)
            if slot <= sp or slot & 7 or slot >= self.cfa:
                continue
            word = self.memory.load(slot)
            if self.memory.fault:
                continue
            if self._is_code(word - 1) and self.rules.follows_call(word):
                self._try_sites(self._sites_between(self.rules.found_frame, frame), word, word, frame)
        self.restore()
        if self.level == CallLevel.IMPOSSIBLE:
            return CallLevel.IMPOSSIBLE
        level = self.level
        self.step(self.site, False, frame)
        return level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_sites(
        self, table: cython.Py_ssize_t, base: cython.ulonglong, wanted: cython.ulonglong, frame: cython.uint
    ) -> cython.int:
        """Try the calls of a table, whose return addresses count from ``base``, as the one that ``frame`` returned to:
        the rule there must give the return address ``wanted`` (0: any that proves itself)."""
        entry: cython.Py_ssize_t
        last: cython.Py_ssize_t = table + self.sites[SITE_WORDS * table + COUNT]
        site: cython.ulonglong
        cfa: cython.ulonglong
        level: cython.int
        called: cython.int
        caller: cython.uint
        function: cython.ulonglong
        for entry in range(table, last):
            site = base + cython.cast(cython.ulonglong, self.sites[SITE_WORDS * entry + ADDRESS])
            self.rules.find(site - 1, site)
            if self.rules.found_rule >= RULE_LIMIT:
                continue
            caller = self.rules.found_frame
            level = self.step(site, False, caller)
            if wanted and self.registers.values[RIP] != wanted:
                level = CallLevel.IMPOSSIBLE
            called = self.proof(site, frame)
            level = min(level, called) if called >= self.least_level else CallLevel.IMPOSSIBLE
            cfa = self.registers.values[RSP]
            self.restore()
            if level < CallLevel.POSSIBLE or cfa > self.cfa or (cfa == self.cfa and level < self.level):
                continue
            function = base + cython.cast(cython.ulonglong, self.sites[SITE_WORDS * entry + FUNCTION])
            if cfa == self.cfa and level == self.level:
                if function != self.function:
                    # Nothing tells which of them it was.
                    self.function = 0
                continue
            self.cfa = cfa
            self.level = level
            self.site = site
            self.function = function
        if self.function == 0:
            self.level = CallLevel.IMPOSSIBLE
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step(self, pc: cython.ulonglong, is_innermost: cython.bint, callee: cython.uint) -> cython.int:
        """Go to the caller by the rule at an address, a return address unless it ``is_innermost``; the CallLevel of the
        caller's return address, as a call of the function of frame ``callee``."""
        reason: cython.int
        self.rules.find(pc if is_innermost else pc - 1, pc)
        if self.rules.found_rule >= RULE_LIMIT:
            return CallLevel.IMPOSSIBLE
        self.registers.values[RIP] = pc
        self.stepper.is_innermost = is_innermost
        reason = self.stepper.step(self.rules.found_rule)
        if reason == StopReason.ROOT:
            return CallLevel.POSSIBLE
        return CallLevel.IMPOSSIBLE if reason else self.proof(self.registers.values[RIP], callee)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def proof(self, return_address: cython.ulonglong, callee: cython.uint) -> cython.int:
        """Whether a return address proves itself as that of a call of the function of frame ``callee``, as a
        CallLevel."""
        frame: cython.uint
        key: cython.ulonglong
        known: cython.longlong
        if not self._is_code(return_address - 1):
            return CallLevel.IMPOSSIBLE
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule == RULE_UNMAPPED or self.rules.found_image == NOTHING:
            return CallLevel.IMPOSSIBLE
        if (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            # A signal handler returns there.
            return CallLevel.POSSIBLE
        frame = self.rules.found_frame
        key = cython.cast(cython.ulonglong, frame) << 32 | callee
        known = self.proofs.get(key)
        if known < 0:
            with cython.gil:
                known = self._ask_proof(frame, callee)
            self.proofs.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.int, known)

    @cython.cfunc
    @cython.exceptval(-1)
    def _ask_proof(self, caller: cython.uint, callee: cython.uint) -> cython.int:
        """A function of its own, since one with Python objects takes the GIL at every call."""
        stacks = self.rules.stacks
        found: cython.int = self.rules.source.code_evidence.call_level(
            stacks.frame_image[caller], stacks.frame_address[caller], stacks.frame_image[callee],
            stacks.frame_address[callee],
        )  # fmt: skip
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_code(self, address: cython.ulonglong) -> cython.bint:
        """Whether an address is in an executable mapping; what is not gets no frame."""
        entry: cython.Py_ssize_t = self.rules.spaces.mapping(self.rules.space, address)
        return entry >= 0 and self.rules.spaces.flags[entry] != 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def save(self) -> cython.int:
        """Keep the registers."""
        i: cython.int
        for i in range(REGISTERS):
            self.saved[i] = self.registers.values[i]
        self.saved_known = self.registers.known
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restore(self) -> cython.int:
        """Take the registers that were kept."""
        i: cython.int
        for i in range(REGISTERS):
            self.registers.values[i] = self.saved[i]
        self.registers.known = self.saved_known
        self.memory.fault = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _sites_of(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the direct calls of a frame's function begin."""
        key: cython.ulonglong = frame
        known: cython.longlong = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_sites_of(frame)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _sites_between(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Where those calls begin that may lead to the function of ``callee``, in the function that is called before
        the return address of ``caller``."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, caller + 1) << 32 | callee
        known: cython.longlong = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_sites_between(caller, callee)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites_of(self, frame: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        address: int = stacks.frame_address[frame]
        return self._add_sites(self.rules.source.code_evidence.sites_of(stacks.frame_image[frame], address), address)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites_between(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        back: int = stacks.frame_address[caller] + 1
        sites = self.rules.source.code_evidence.sites_between(
            stacks.frame_image[caller], stacks.frame_address[caller], stacks.frame_image[callee],
            stacks.frame_address[callee],
        )  # fmt: skip
        return self._add_sites(sites, back)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites(self, sites: list, base: cython.ulonglong) -> cython.Py_ssize_t:  # type: ignore[type-arg]  # Cython's own list
        """Append a table of calls; one without any has a row that is none."""
        first: cython.Py_ssize_t = self.site_count
        needed: cython.Py_ssize_t = SITE_WORDS * (first + max(1, len(sites)))
        start: int = base
        while needed > self.sites.shape[0]:
            self.sites = longer(self.sites, SITE_WORDS * first, 2 * self.sites.shape[0])
        for at, one in enumerate(sites, first):
            self.sites[SITE_WORDS * at + ADDRESS] = one.return_address - start
            self.sites[SITE_WORDS * at + FUNCTION] = one.function - start
        self.sites[SITE_WORDS * first + COUNT] = len(sites)
        self.site_count = first + max(1, len(sites))
        return first
