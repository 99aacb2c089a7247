# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Callers of functions with return probes, whose return addresses the kernel has replaced.

A return probe (uretprobe) puts the address of a trampoline in place of the return address, and only the kernel knows
the true one (kernel/events/uprobes.c, `prepare_uretprobe`). The registers after the return are known, since the frame's
size is: the caller is a function with a call that may lead to the callee, and its own rule there, and those of all
functions further out, must lead to return addresses that prove themselves, up to the root. Calls that are tried are
those of functions which a return address on the stack names as called, and all direct calls and imports of the callee.
Return addresses further out may be replaced as well: then the search continues there.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import CONTRADICTED, NO_FACTS, CallLevel
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, Reach

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.caller_evidence import CallerEvidence
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

SLOTS = cython.declare(cython.int, 256)
"""Words above the stack pointer in which the return address of the caller is looked for."""
SKIPPED_SLOTS = cython.declare(cython.int, 1024)
"""Words above the stack pointer in which the next return address is looked for, where a caller remains unknown."""
FITTING = cython.declare(cython.int, 2)
"""Return addresses that must follow it there, unless they all do up to the root: what earlier calls have left on the
stack fits by chance. Of the stacks of `bench/probe_truth.py` with all functions probed, 10 % were false without."""
PAGE_SLOTS = cython.declare(cython.int, 128)
"""Words above the stack pointer in which the return address of a function is looked for whose instruction the kernel
executes in its own page."""
LEVELS = cython.declare(cython.int, 64)
"""Replaced return addresses of one stack that are searched for together; the next ones are searched for anew."""
CANDIDATES = cython.declare(cython.Py_ssize_t, 256)
"""Calls that fit one return address by their frames' sizes."""
FRAMES = cython.declare(cython.int, 48)
"""Frames between two replaced return addresses that are verified."""
STEPS = cython.declare(cython.int, 20000)
"""Steps to a caller that are made for one stack."""
LOOKED_AT = cython.declare(cython.int, 32)
"""Calls whose values are compared for one return address: each costs some 100 microseconds."""
AGREEING = cython.declare(cython.int, 2)
"""Values that agree with a call, less than which say nothing: one may do so by chance."""
FEW_CALLS = cython.declare(cython.Py_ssize_t, 4096)
"""Calls of a function that are tried in any case; more of them only if the stack names no caller."""
SITE_WORDS = cython.declare(cython.Py_ssize_t, 5)
IMAGE = cython.declare(cython.int, 0)
RETURN_ADDRESS = cython.declare(cython.int, 1)
"""The return address, as the file states it."""
FUNCTION = cython.declare(cython.int, 2)
LEVEL = cython.declare(cython.int, 3)
SIZE = cython.declare(cython.int, 4)
"""Bytes of the function's frame at its calls, as its first instructions show; 0 where they do not, negative if it has
more than so many."""
TRAMPOLINE_CODE = cython.declare(cython.ulonglong, 64)
"""Bytes of the trampoline at the start of the page (arch/x86/kernel/uprobes.c, `uretprobe_trampoline_entry`)."""
COPY = cython.declare(cython.ulonglong, 128)
"""Bytes for the copy of an instruction (include/linux/uprobes.h, `UPROBE_XOL_SLOT_BYTES`)."""
TRAMPOLINE_PUSHES = cython.declare(cython.int, 3)
"""Registers that it saves before its system call."""
SAVED = cython.declare(cython.Py_ssize_t, 18)
"""Words of the registers that are kept."""
KNOWN = cython.declare(cython.Py_ssize_t, 256)
"""Results that are kept of one stack."""
KNOWN_WORDS = cython.declare(cython.Py_ssize_t, 3)
"""Stack pointer and callee, number of the stack and result, return address."""


@cython.final
@cython.cclass
class ProbedReturns:
    """Searches for callers in one stack at a time; tables of calls are kept."""

    sites: Any
    saved: Any
    candidate_sites: Any
    candidate_cfas: Any
    candidate_levels: Any
    candidate_rows: Any
    candidate_callers: Any
    known: Any
    table_rows: Any

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        stepper: FrameStepper,
        proofs: CallSteps,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.stepper = stepper
        self.proofs = proofs
        self.evidence = CallerEvidence(proofs)
        self.tables = IntMap()
        self.mapped = IntMap()
        self.sites = zeros("q", 0)
        self.table_rows = zeros("q", 0)
        self.stack_number = self.table_count = self.site_count = 0

    def forget(self) -> None:
        """Forget what is known of frames and address spaces: they have other numbers now."""
        self.tables, self.mapped = IntMap(), IntMap()
        self.table_count = self.site_count = 0

    def _allocate(self) -> None:
        """Few recordings have such stacks."""
        self.sites = zeros("q", SITE_WORDS * 64)
        self.table_rows = zeros("q", 2 * 64)
        self.saved = zeros("Q", SAVED * (LEVELS + 1))
        self.candidate_sites = zeros("Q", CANDIDATES * (LEVELS + 1))
        self.candidate_cfas = zeros("Q", CANDIDATES * (LEVELS + 1))
        self.candidate_levels = zeros("i", CANDIDATES * (LEVELS + 1))
        self.candidate_rows = zeros("q", CANDIDATES * (LEVELS + 1))
        self.candidate_callers = zeros("Q", CANDIDATES * (LEVELS + 1))
        self.known = zeros("Q", KNOWN_WORDS * KNOWN)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begin_stack(self) -> cython.int:
        """Forget what was found in the last stack."""
        self.stack_number += 1
        self.steps = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def find(self, callee: cython.uint, trampoline: cython.ulonglong) -> cython.bint:
        """Set the address in the registers, which are those after the return, to that in the caller of the function of
        frame ``callee``; False where none proves itself."""
        self._begin(trampoline)
        self._search(callee, 0)
        self._restore(0)
        self.memory.confined = False
        if self.found_site == 0:
            return False
        self.registers.values[RIP] = self.found_site
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def skip(self, trampoline: cython.ulonglong) -> cython.bint:
        """Go from the registers after the return to the nearest return address further out that proves itself, with all
        others up to the root; which functions are between, and what they saved of registers, is not known. False
        where there is none."""
        _i: cython.int
        word: cython.ulonglong
        slot: cython.ulonglong = self.registers.values[RSP]
        found: cython.bint = False
        reached: cython.int
        self._begin(trampoline)
        self.registers.known = cython.cast(cython.uint, 1) << RSP | cython.cast(cython.uint, 1) << RIP
        self._save(LEVELS)
        for _i in range(SKIPPED_SLOTS):
            if not self._in_dump(slot):
                break
            word = self.memory.load(slot)
            slot += 8
            if self.proofs.is_code(word - 1) and self.rules.follows_call(word):
                self._restore(LEVELS)
                self.registers.values[RIP] = word
                self.registers.values[RSP] = slot
                # What was left of earlier calls may fit too, but not several times.
                reached = self._verify(0)
                found = reached >= Reach.GAP and (self.real_frames >= FITTING or not self.is_replaced)
                self._restore(LEVELS)
                if found:
                    self.registers.values[RIP] = word
                    self.registers.values[RSP] = slot
                    break
        self.memory.confined = False
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def leave_page(self, page: cython.ulonglong) -> cython.bint:
        """Go to the return address of what executes in the kernel's page for probes, which starts at ``page``; False
        where none is found.

        At its start is the trampoline, with the registers that it saves: a function has returned to it. Elsewhere are
        copies of probed instructions: as a rule the first one of a function, which may have moved the stack pointer.
        """
        offset: cython.ulonglong = self.registers.values[RIP] - page
        sp: cython.ulonglong = self.registers.values[RSP]
        i: cython.int
        word: cython.ulonglong
        slot: cython.ulonglong
        found: cython.int = Reach.NOTHING
        self._begin(page)
        self._save(LEVELS)
        if offset < TRAMPOLINE_CODE:
            for i in range(TRAMPOLINE_PUSHES + 1):
                slot = sp + 8 * cython.cast(cython.ulonglong, TRAMPOLINE_PUSHES - i if offset > 1 else i)
                self._restore(LEVELS)
                self.registers.values[RSP] = slot
                if self._search(NOTHING, 0) >= Reach.GAP:
                    self._restore(LEVELS)
                    self.registers.values[RSP] = slot
                    self.registers.values[RIP] = page
                    self.memory.confined = False
                    return True
        else:
            for i in range(PAGE_SLOTS):
                slot = sp + 8 * cython.cast(cython.ulonglong, i)
                if not self._in_dump(slot):
                    break
                word = self.memory.load(slot)
                if word == page or self._is_entry_return(word, slot, offset % COPY):
                    self._restore(LEVELS)
                    self.registers.values[RIP] = word
                    self.registers.values[RSP] = slot + 8
                    found = Reach.GAP if word == page else self._verify(0)
                    self._restore(LEVELS)
                    self.registers.values[RIP] = word
                    self.registers.values[RSP] = slot + 8
                    break
        self.memory.confined = False
        return found >= Reach.GAP

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def calls(self, word: cython.ulonglong, function: cython.ulonglong) -> cython.bint:
        """Whether a word is the return address of a direct call of the function that starts at an address, or of an
        indirect call."""
        target: cython.ulonglong
        starts: cython.bint = False
        image: cython.uint
        address: cython.ulonglong
        if not self.proofs.is_code(word - 1) or not self.rules.follows_call(word):
            return False
        target = self._target(word)
        if target:
            return target == function
        self.rules.find(function, function)
        image = self.rules.found_image
        if image != NOTHING:
            address = self.rules.stacks.frame_address[self.rules.found_frame]
            with cython.gil:
                starts = self.rules.source.starts_function(image, address)
        return starts

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFF)
    def _target(self, word: cython.ulonglong) -> cython.ulonglong:
        """What the direct call calls before a return address, which was looked up last; 0 for another call."""
        target: cython.ulonglong
        image: cython.uint = self.rules.found_image
        address: cython.ulonglong = self.rules.stacks.frame_address[self.rules.found_frame] + 1
        with cython.gil:
            target = self.rules.source.call_target(image, address)
        return word + (target - address) if target else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_entry_return(
        self, word: cython.ulonglong, slot: cython.ulonglong, executed: cython.ulonglong
    ) -> cython.bint:
        """Whether a word on the stack is the return address of a function of which the first ``executed`` bytes of code
        have run, with the registers that were kept at LEVELS."""
        target: cython.ulonglong
        fits: cython.bint = slot == self.saved[SAVED * LEVELS + RSP]
        if not self.proofs.is_code(word - 1) or not self.rules.follows_call(word):
            return False
        target = self._target(word)
        if target == 0:
            # An indirect call, of a function that has not moved the stack pointer yet.
            return fits
        self.rules.find(target + executed, target + executed)
        if self.rules.found_rule < RULE_LIMIT:
            self._restore(LEVELS)
            self.stepper.is_innermost = True
            fits = self.stepper.step(self.rules.found_rule) == 0 and self.registers.values[RSP] == slot + 8
            self._restore(LEVELS)
        return fits

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, trampoline: cython.ulonglong) -> cython.int:
        if self.sites.shape[0] == 0:
            with cython.gil:
                self._allocate()
        self.trampoline = trampoline
        self.memory.confined = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _save(self, level: cython.Py_ssize_t) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(REGISTERS):
            self.saved[SAVED * level + i] = self.registers.values[i]
        self.saved[SAVED * level + REGISTERS] = self.registers.known
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _restore(self, level: cython.Py_ssize_t) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(REGISTERS):
            self.registers.values[i] = self.saved[SAVED * level + i]
        self.registers.known = cython.cast(cython.uint, self.saved[SAVED * level + REGISTERS])
        self.memory.fault = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _in_dump(self, slot: cython.ulonglong) -> cython.bint:
        return self.memory.low <= slot and slot < self.memory.high and self.memory.high - slot >= 8

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _search(self, callee: cython.uint, level: cython.Py_ssize_t) -> cython.int:
        """Find the caller of a function that has returned, whose registers these are, and set ``found_site`` to the
        return address in it (0: none); how far all return addresses further out prove themselves, as a Reach.

        Of several callers that of a proven call is taken, then the one that is proven further, then the one with which
        more values of registers and of the stack agree. Where two are alike, nothing tells which it was: GAP, and no
        address.
        """
        first: cython.Py_ssize_t = CANDIDATES * level
        count: cython.Py_ssize_t
        i: cython.Py_ssize_t
        best: cython.Py_ssize_t
        found: cython.int
        proven: cython.int = -1
        reached: cython.int = Reach.NOTHING
        alike: cython.bint = False
        agreeing: cython.int
        most: cython.int = NO_FACTS
        better: cython.int
        looked: cython.int = 0
        chosen: cython.ulonglong = 0
        cfa: cython.ulonglong = 0
        function: cython.ulonglong
        site: cython.ulonglong = 0
        sp: cython.ulonglong = self.registers.values[RSP]
        key: cython.ulonglong = sp << 20 ^ callee
        slot: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, (sp >> 3 ^ callee) & (KNOWN - 1))
        self._save(level)
        if self.known[KNOWN_WORDS * slot] == key and self.known[KNOWN_WORDS * slot + 1] >> 2 == self.stack_number:
            self.found_site = self.known[KNOWN_WORDS * slot + 2]
            return cython.cast(cython.int, self.known[KNOWN_WORDS * slot + 1] & 3)
        count = self._collect(callee, level)
        while count > 0 and not (alike and looked == LOOKED_AT):
            best = first
            for i in range(first + 1, first + count):
                if self.candidate_levels[i] > self.candidate_levels[best]:
                    best = i
            if reached >= Reach.GAP and self.candidate_levels[best] < proven:
                break
            self._restore(level)
            self.registers.values[RIP] = self.candidate_sites[best]
            found = self._verify(level)
            agreeing = CONTRADICTED if found == Reach.NOTHING or found < reached else NO_FACTS
            if agreeing == NO_FACTS and looked < LOOKED_AT:
                agreeing = self._agreeing(best, level)
                looked += 1
            better = found - reached
            if better == 0 and agreeing >= 0 and most >= 0:
                better = agreeing - most
            function = cython.cast(cython.ulonglong, self.sites[SITE_WORDS * self.candidate_rows[best] + FUNCTION])
            if agreeing == CONTRADICTED or better < 0:
                pass
            elif better > 0:
                alike = False
                reached, most, site = found, agreeing, self.candidate_sites[best]
                proven, chosen, cfa = self.candidate_levels[best], function, self.candidate_cfas[best]
            elif function != chosen or self.candidate_cfas[best] != cfa:
                alike = True
            count -= 1
            self.candidate_sites[best] = self.candidate_sites[first + count]
            self.candidate_rows[best] = self.candidate_rows[first + count]
            self.candidate_cfas[best] = self.candidate_cfas[first + count]
            self.candidate_callers[best] = self.candidate_callers[first + count]
            self.candidate_levels[best] = self.candidate_levels[first + count]
        if alike:
            reached = Reach.GAP
            site = 0
        self.known[KNOWN_WORDS * slot] = key
        self.known[KNOWN_WORDS * slot + 1] = self.stack_number << 2 | cython.cast(cython.ulonglong, reached)
        self.known[KNOWN_WORDS * slot + 2] = site
        self.found_site = site
        return reached

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-9)
    def _agreeing(self, candidate: cython.Py_ssize_t, level: cython.Py_ssize_t) -> cython.int:
        """How many values of the registers and of the stack agree with a candidate, or NO_FACTS or CONTRADICTED."""
        row: cython.Py_ssize_t = self.candidate_rows[candidate]
        found: cython.int
        self._restore(level)
        found = self.evidence.agreeing(
            cython.cast(cython.uint, self.sites[SITE_WORDS * row + IMAGE]),
            cython.cast(cython.ulonglong, self.sites[SITE_WORDS * row + FUNCTION]),
            cython.cast(cython.ulonglong, self.sites[SITE_WORDS * row + RETURN_ADDRESS]),
            self.candidate_callers[candidate],
            cython.address(self.saved[SAVED * level]),
            cython.cast(cython.uint, self.saved[SAVED * level + REGISTERS]),
        )
        # Where the caller is not known either, little is compared: with it 13 % of hard stacks were false, not 2.
        if found > 0 and (found < AGREEING or self.candidate_callers[candidate] == 0):
            found = 0
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _verify(self, level: cython.Py_ssize_t) -> cython.int:
        """How far all return addresses prove themselves, from the address in the registers on, as a Reach."""
        _i: cython.int
        pc: cython.ulonglong
        sp: cython.ulonglong
        frame: cython.uint
        image: cython.uint
        rule: cython.uint
        reason: cython.int
        if level == 0:
            self.real_frames = 0
            self.is_replaced = False
        for _i in range(FRAMES):
            self.steps += 1
            pc = self.registers.values[RIP]
            sp = self.registers.values[RSP]
            self.rules.find(pc - 1, pc)
            rule = self.rules.found_rule
            if rule >= RULE_LIMIT or self.steps > STEPS:
                return Reach.DUMP
            frame = self.rules.found_frame
            image = self.rules.found_image
            self.stepper.is_innermost = False
            reason = self.stepper.step(rule)
            if reason == StopReason.ROOT:
                return Reach.ROOT
            if reason == StopReason.TRUNCATED:
                return Reach.DUMP
            if reason or self.registers.values[RSP] <= sp:
                return (
                    Reach.ROOT
                    if self.rules.in_entry_function(image, self.rules.stacks.frame_address[frame])
                    else Reach.NOTHING
                )
            pc = self.registers.values[RIP]
            if pc == self.trampoline:
                self.is_replaced = True
                # Even without a caller there: what the rule gives is what a return probe leaves.
                return max(Reach.GAP, self._search(frame, level + 1)) if level + 1 < LEVELS else Reach.ROOT
            if pc == 0 or rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL:
                return Reach.DUMP
            if self.proofs.proof(pc, self.proofs.function_of(frame)) == CallLevel.IMPOSSIBLE:
                return (
                    Reach.ROOT
                    if self.rules.in_entry_function(image, self.rules.stacks.frame_address[frame])
                    else Reach.NOTHING
                )
            if level == 0:
                self.real_frames += 1
        return Reach.ROOT

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _collect(self, callee: cython.uint, level: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Collect the calls whose own rule leads to a return address that proves itself; returns how many."""
        count: cython.Py_ssize_t = 0
        table: cython.Py_ssize_t
        _i: cython.int
        word: cython.ulonglong
        slot: cython.ulonglong = self.registers.values[RSP]
        self.nearest = 0
        for _i in range(SLOTS):
            if not self._in_dump(slot):
                break
            word = self.memory.load(slot)
            slot += 8
            if word == self.trampoline and self.nearest == 0:
                self.nearest = slot
            if self.proofs.is_code(word - 1) and self.rules.follows_call(word):
                table = self._table(self.rules.found_frame, callee)
                if self.table_rows[2 * table + 1] > 0:
                    count = self._try(table, level, count, slot)
        if callee != NOTHING:
            table = self._table(NOTHING, callee)
            if count == 0 or self.table_rows[2 * table + 1] <= FEW_CALLS:
                count = self._try(table, level, count, 0)
        self._restore(level)
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try(
        self, table: cython.Py_ssize_t, level: cython.Py_ssize_t, count: cython.Py_ssize_t, wanted: cython.ulonglong
    ) -> cython.Py_ssize_t:
        """Add the calls of a table that fit, with this call frame address (0: any), to ``count`` candidates."""
        first: cython.Py_ssize_t = CANDIDATES * level
        row: cython.Py_ssize_t
        image: cython.uint
        site: cython.ulonglong
        cfa: cython.ulonglong
        function: cython.ulonglong
        proven: cython.int
        size: cython.longlong
        extent: cython.longlong
        by_frame_pointer: cython.bint
        called: cython.int
        caller: cython.uint
        return_address: cython.ulonglong
        sp: cython.ulonglong = self.saved[SAVED * level + RSP]
        start: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.table_rows[2 * table])
        end: cython.Py_ssize_t = start + cython.cast(cython.Py_ssize_t, self.table_rows[2 * table + 1])
        for row in range(start, end):
            if count == CANDIDATES or self.steps > STEPS:
                break
            image = cython.cast(cython.uint, self.sites[SITE_WORDS * row + IMAGE])
            site = self._mapped(image, cython.cast(cython.ulonglong, self.sites[SITE_WORDS * row + RETURN_ADDRESS]))
            if site == 0:
                continue
            self.rules.find(site - 1, site)
            if self.rules.found_rule >= RULE_LIMIT:
                continue
            caller = self.rules.found_frame
            by_frame_pointer = rule_at(self.rules.words, self.rules.found_rule).cfa_register == RBP
            self.steps += 1
            self._restore(level)
            self.registers.values[RIP] = site
            self.stepper.is_innermost = False
            if self.stepper.step(self.rules.found_rule):
                continue
            cfa = self.registers.values[RSP]
            if cfa <= sp or (wanted and cfa != wanted):
                continue
            function = cython.cast(cython.ulonglong, self.sites[SITE_WORDS * row + FUNCTION])
            proven = cython.cast(cython.int, self.sites[SITE_WORDS * row + LEVEL])
            size = self.sites[SITE_WORDS * row + SIZE]
            extent = cython.cast(cython.longlong, cfa - sp)
            if (self.nearest and cfa > self.nearest) or (
                by_frame_pointer and ((size > 0 and extent != size) or (size < 0 and extent <= -size))
            ):
                # It would have a replaced return address inside of its frame, or be another function: all rules that go
                # by the frame pointer give the same return address.
                proven = CallLevel.UNKNOWN
            return_address = self.registers.values[RIP]
            called = CallLevel.POSSIBLE
            if return_address == self.trampoline:
                return_address = 0
            else:
                called = self.proofs.proof(return_address, self.proofs.function_of(caller))
                if called < CallLevel.POSSIBLE:
                    continue
            if called == CallLevel.POSSIBLE and return_address and not self._may_call(return_address, image, function):
                called = CallLevel.UNKNOWN
            self.candidate_sites[first + count] = site
            self.candidate_rows[first + count] = row
            self.candidate_cfas[first + count] = cfa
            self.candidate_callers[first + count] = return_address
            # First by its own call of the callee, then by the call of itself.
            self.candidate_levels[first + count] = 4 * proven + called
            count += 1
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _may_call(
        self, return_address: cython.ulonglong, image: cython.uint, function: cython.ulonglong
    ) -> cython.bint:
        """Whether the call before a return address is a direct one, or there is a pointer to the function that it has
        called."""
        self.rules.find(return_address - 1, return_address)
        return self._target(return_address) != 0 or self.evidence.has_pointer(image, function)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFF)
    def _mapped(self, image: cython.uint, address: cython.ulonglong) -> cython.ulonglong:
        """Where the process has an address of an image's code; 0 where it has none."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, self.rules.space) << 32 | image
        known: cython.longlong = self.mapped.get(key)
        stated: cython.ulonglong
        entry: cython.Py_ssize_t
        if known < 0:
            entry = self.rules.spaces.code_of(self.rules.space, image)
            known = entry if entry >= 0 else NOTHING
            self.mapped.put(key, cython.cast(cython.uint, known))
        if known == NOTHING:
            return 0
        entry = cython.cast(cython.Py_ssize_t, known)
        self.rules.find(self.rules.spaces.starts[entry], self.rules.spaces.starts[entry])
        stated = self.rules.stated_address(image, self.rules.spaces.offsets[entry])
        if (
            stated == 0
            or address < stated
            or address - stated >= self.rules.spaces.ends[entry] - (self.rules.spaces.starts[entry])
        ):
            return 0
        return self.rules.spaces.starts[entry] + (address - stated)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _table(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """The table of the calls that may lead to the function of ``callee`` (NOTHING: to any), in the function that is
        called before the return address of ``caller`` (NOTHING: in any)."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, caller) << 32 | callee
        known: cython.longlong = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add(caller, callee)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        sites = self.rules.source.call_sites
        table: cython.Py_ssize_t = self.table_count
        number: int = -1
        address: int = 0
        if callee != NOTHING and stacks.frame_image[callee] != NOTHING:
            number, address = stacks.frame_image[callee], stacks.frame_address[callee]
        if caller == NOTHING:
            found = sites.callers(number, address) if number >= 0 else []
        elif stacks.frame_image[caller] == NOTHING:
            found = []
        else:
            found = sites.within(stacks.frame_image[caller], stacks.frame_address[caller], number, address)
        while SITE_WORDS * (self.site_count + len(found)) > self.sites.shape[0]:
            self.sites = longer(self.sites, SITE_WORDS * self.site_count, 2 * self.sites.shape[0])
        if 2 * (table + 1) > self.table_rows.shape[0]:
            self.table_rows = longer(self.table_rows, 2 * table, 2 * self.table_rows.shape[0])
        self.table_rows[2 * table] = self.site_count
        self.table_rows[2 * table + 1] = len(found)
        for at, one in enumerate(found, self.site_count):
            self.sites[SITE_WORDS * at + IMAGE] = one.image
            self.sites[SITE_WORDS * at + RETURN_ADDRESS] = one.return_address
            self.sites[SITE_WORDS * at + FUNCTION] = one.function
            self.sites[SITE_WORDS * at + LEVEL] = one.level
            self.sites[SITE_WORDS * at + SIZE] = one.size
        self.site_count += len(found)
        self.table_count = table + 1
        return table
