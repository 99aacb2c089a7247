# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Registers of precise samples, which are later than the sampled instruction, brought to the state of its caller.

A precise sample has the address of the exact instruction, but registers and stack of some instructions later (see
docs/precise.md). How much later is not recorded: a state must prove itself. The state that the sampled instruction's
own rule supposes is tried first; it is right if the return address follows a call that leads to the sampled function.
Else the positions that control flow reaches (:mod:`undwarf.unwind.exact_paths`) are tried, and the best proven one is
taken. Where the function has returned already, its return address is lost below the dump, and the caller is searched
for (:mod:`undwarf.unwind.caller_search`).
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel, Position
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.caller_search import CallerSearch
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.late_branches import LateBranches
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import FrameStates, RegisterFile
from undwarf.unwind.rule_cache import RuleCache

NEAR_SLOTS = cython.declare(cython.int, 16)
"""Words above the stack pointer that may hold a return address which at most REACH instructions are pushed on."""
LONGEST_INSTRUCTION = cython.declare(cython.int, 15)
ENTRY_WORDS = cython.declare(cython.Py_ssize_t, 6)
"""Words of an entry: those that follow."""
POSITION = cython.declare(cython.int, 0)
ADDRESS = cython.declare(cython.int, 1)
"""Counted from the sample's address."""
BACK = cython.declare(cython.int, 2)
"""The return address of a hypothesis, counted alike."""
LEVELS = cython.declare(cython.int, 3)
STEPS = cython.declare(cython.int, 4)
ENTRIES = cython.declare(cython.int, 5)
"""In the first entry of a table, how many it has."""


@cython.final
@cython.cclass
class ExactState:
    """Corrects the registers of one sample at a time, and counts what was done."""

    entries: Any

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        states: FrameStates,
        stepper: FrameStepper,
        search: CallerSearch,
        chain: memoryview,
        late_branches: LateBranches,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.states = states
        self.stepper = stepper
        self.search = search
        self.chain = chain
        self.late_branches = late_branches
        self.tables = IntMap()
        self.steady = IntMap()
        self.entries = zeros("q", ENTRY_WORDS * 64)
        self.entry_count = 0
        self.samples = self.fitting = self.corrected = self.returned = self.unproven = 0
        self.followed = 0

    def take_over(self, other: ExactState) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Continue with the counts of another one."""
        self.samples, self.fitting, self.corrected = other.samples, other.fitting, other.corrected
        self.returned, self.unproven, self.followed = other.returned, other.unproven, other.followed

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def correct(self, count: cython.Py_ssize_t, has_branches: cython.bint) -> cython.Py_ssize_t:
        """Correct the registers of the sample at hand, whose frames come after ``count`` frames of the chain.
        ``has_branches``: ``late_branches`` has found branches after the sampled instruction.

        Returns how many frames were added to the chain: 0 where the registers fit as they are, and are unchanged; else
        they are those of the caller of the last frame added. Where nothing proves a caller, ``is_unproven`` is set, and
        the first frame is in the chain.
        """
        pc: cython.ulonglong = self.registers.values[RIP]
        frame: cython.uint
        first: cython.Py_ssize_t
        best: cython.Py_ssize_t
        own: cython.int
        self.is_unproven = False
        self.samples += 1
        self.rules.find(pc, pc)
        if self.rules.found_rule >= RULE_LIMIT:
            return 0
        frame = self.rules.found_frame
        self.search.save()
        if has_branches:
            return self._correct_after_branches(count, pc, frame)
        own = self._try_as_it_is(pc, frame)
        # A return address right after the sampled instruction may be that of its own call.
        if own == CallLevel.PROVEN and self.own_caller - pc > LONGEST_INSTRUCTION and self._is_steady(frame):
            self.fitting += 1
            return 0
        first = self._table(frame)
        best = self._best_of(first, pc, frame, own)
        if best == first or (best < 0 and self.entries[ENTRY_WORDS * first + ENTRIES] == 1):
            # Proven, or no other state is possible.
            self.fitting += 1
            return 0
        self.chain[count] = frame
        self.states.count = 0
        self.states.keep(0, True)
        if best < 0:
            self.is_unproven = True
            self.unproven += 1
            return 1
        self.search.limit = ALL_ONES
        self._try(best, pc, frame)
        self.corrected += 1
        if self.entries[ENTRY_WORDS * best + POSITION] != Position.PAST_RETURN:
            return 1
        self.returned += 1
        self.rules.find(self.search.site - 1, self.search.site)
        self.chain[count + 1] = self.rules.stacks.with_provenance(self.rules.found_frame, Provenance.INFERRED_CALLER)
        self.states.keep(1, False)
        return 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _correct_after_branches(
        self, count: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint
    ) -> cython.Py_ssize_t:
        """As :meth:`correct`, with the branches that were taken since: the search begins where the last return went to,
        and prefers the callee that the open call entered."""
        first: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        own: cython.int
        i: cython.Py_ssize_t
        added: cython.Py_ssize_t = 1 + self.late_branches.site_count
        site: cython.ulonglong
        self.chain[count] = frame
        self.states.count = 0
        self.states.keep(0, True)
        for i in range(1, added):
            site = self.late_branches.sites[i - 1]
            self.rules.find(site - 1, site)
            self.chain[count + i] = self.rules.stacks.with_provenance(self.rules.found_frame, Provenance.BRANCH_STACK)
        self.followed += added > 1
        if added > 1:
            pc = self.late_branches.position
            self.rules.find(pc, pc)
            frame = self.rules.found_frame
            self.registers.values[RIP] = pc
            self.search.save()
        if self.rules.found_rule < RULE_LIMIT:
            own = self._try_as_it_is(pc, frame)
            first = self._table(frame)
            if self.late_branches.back:
                best = self._best_callee(first, pc, frame)
            if best < 0:
                best = self._best_of(first, pc, frame, own)
            if best < 0 and self.entries[ENTRY_WORDS * first + ENTRIES] == 1:
                best = first
        if best >= 0:
            if added == 1 and best == first:
                self.fitting += 1
                return 0
            self.search.limit = ALL_ONES
            self._try(best, pc, frame)
            self.corrected += 1
        for i in range(1, added):
            self.states.keep(i, False)
        if best < 0:
            self.is_unproven = True
            self.unproven += 1
        elif self.entries[ENTRY_WORDS * best + POSITION] == Position.PAST_RETURN:
            self.returned += 1
            self.rules.find(self.search.site - 1, self.search.site)
            self.chain[count + added] = self.rules.stacks.with_provenance(
                self.rules.found_frame, Provenance.INFERRED_CALLER
            )
            self.states.keep(added, False)
            return added + 1
        return added

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _best_callee(self, first: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint) -> cython.Py_ssize_t:
        """The best proven hypothesis of a table that the state is in the callee which the open call entered; -1 for
        none."""
        entry: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        kind: cython.longlong
        level: cython.int
        best_level: cython.int = CallLevel.UNKNOWN
        for entry in range(first, first + self.entries[ENTRY_WORDS * first + ENTRIES]):
            kind = self.entries[ENTRY_WORDS * entry + POSITION]
            if kind != Position.IN_CALLEE and kind != Position.IN_UNKNOWN_CALLEE:
                continue
            if pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + BACK]) != self.late_branches.back:
                continue
            level = self._try(entry, pc, frame)
            self.search.restore()
            if level > best_level:
                best, best_level = entry, level
        return best

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_as_it_is(self, pc: cython.ulonglong, frame: cython.uint) -> cython.int:
        """How well the sample's state is proven as that of its instruction; sets ``own_cfa``."""
        level: cython.int = self.search.step(pc, True, frame)
        self.own_cfa = self.registers.values[RSP]
        self.own_caller = self.registers.values[RIP]
        self.search.restore()
        if level == CallLevel.UNKNOWN:
            self.rules.find(pc, pc)
            if rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL:
                # In a signal's return trampoline: the rule gives what was interrupted.
                return CallLevel.PROVEN
        return level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _best_of(
        self, first: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint, own: cython.int
    ) -> cython.Py_ssize_t:
        """The best proven hypothesis of a table; -1 for none. ``own``: how well the first one is proven, the state as
        it is. Of those that are proven alike, that with the nearest caller: false ones leave frames out."""
        entry: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        level: cython.int
        best_level: cython.int = CallLevel.IMPOSSIBLE
        cfa: cython.ulonglong
        best_cfa: cython.ulonglong = 0
        at: cython.ulonglong
        rule: cython.uint
        last_rule: cython.uint = NOTHING
        fits: cython.bint = False
        kind: cython.longlong
        is_callee: cython.bint
        back: cython.ulonglong
        called: cython.ulonglong = 0
        caller: cython.ulonglong
        best_caller: cython.ulonglong = self.own_caller
        self.rules.find(pc, pc)
        rule = self.rules.found_rule
        if own == CallLevel.PROVEN or (own and not self._leaves(first)):
            best, best_level, best_cfa = first, own, self.own_cfa
        for entry in range(first + 1, first + self.entries[ENTRY_WORDS * first + ENTRIES]):
            kind = self.entries[ENTRY_WORDS * entry + POSITION]
            if kind == Position.IN_FRAME:
                at = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + ADDRESS])
                self.rules.find(at, at)
                if self.rules.found_rule == last_rule:
                    continue
                last_rule = self.rules.found_rule
                if last_rule == rule:
                    fits = True
                    continue
            is_callee = kind == Position.IN_CALLEE or kind == Position.IN_UNKNOWN_CALLEE
            back = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + BACK])
            if is_callee and self.entries[ENTRY_WORDS * entry + STEPS] == 1:
                called = back
            # No caller further out would be taken.
            self.search.limit = best_cfa if best_level == CallLevel.PROVEN else ALL_ONES
            level = self._try(entry, pc, frame)
            cfa = self.registers.values[RSP]
            caller = self.registers.values[RIP]
            self.search.restore()
            if level == CallLevel.IMPOSSIBLE:
                continue
            if (
                is_callee
                and best >= 0
                and best_caller == back
                and self.entries[ENTRY_WORDS * best + POSITION] == Position.IN_FRAME
            ):
                # A function that calls itself: the state is that of a callee if the sampled instruction is the call.
                if called == back:
                    best, best_level, best_cfa, best_caller = entry, level, cfa, caller
                continue
            if kind == Position.IN_FRAME and cfa == best_cfa:
                fits = True
            if level < best_level or (level == best_level and cfa > best_cfa):
                continue
            if level == best_level and cfa == best_cfa and (kind != Position.PAST_RETURN or best != first or fits):
                continue
            best, best_level, best_cfa, best_caller = entry, level, cfa, caller
        return best

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _leaves(self, table: cython.Py_ssize_t) -> cython.bint:
        """Whether the sampled instruction is a call or a return: the state is past it then, as a rule."""
        entry: cython.Py_ssize_t
        for entry in range(table, table + self.entries[ENTRY_WORDS * table + ENTRIES]):
            if (
                self.entries[ENTRY_WORDS * entry + STEPS] == 1
                and self.entries[ENTRY_WORDS * entry + POSITION] != Position.IN_FRAME
            ):
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_steady(self, frame: cython.uint) -> cython.bint:
        """Whether the rule of a frame's address is also that of the next instruction, whatever its length."""
        known: cython.longlong = self.steady.get(frame)
        image: cython.uint = self.rules.stacks.frame_image[frame]
        address: cython.ulonglong = self.rules.stacks.frame_address[frame]
        i: cython.int
        rule: cython.longlong
        if known < 0:
            known = 1
            rule = self.rules.rule(image, address)
            for i in range(1, LONGEST_INSTRUCTION + 1):
                if self.rules.rule(image, address + cython.cast(cython.ulonglong, i)) != rule:
                    known = 0
                    break
            self.steady.put(frame, cython.cast(cython.uint, known))
        return known == 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try(self, entry: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint) -> cython.int:
        """Go to the caller of the sample's frame under one hypothesis; its CallLevel."""
        kind: cython.longlong = self.entries[ENTRY_WORDS * entry + POSITION]
        at: cython.ulonglong = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + ADDRESS])
        back: cython.ulonglong = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + BACK])
        if kind == Position.IN_FRAME:
            return self.search.step(at, True, frame)
        if kind == Position.IN_CALLEE:
            return self._try_callee(at, back, self.entries[ENTRY_WORDS * entry + LEVELS], frame)
        if kind == Position.IN_UNKNOWN_CALLEE:
            return self._try_unknown_callee(back, frame)
        if kind == Position.PAST_JUMP:
            return self._try_past_jump(frame)
        return self.search.find(frame, pc)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_callee(
        self, at: cython.ulonglong, back: cython.ulonglong, levels: cython.longlong, frame: cython.uint
    ) -> cython.int:
        """The state is that of an address ``levels`` calls further in, the outermost of which returns to ``back``."""
        i: cython.longlong
        word: cython.ulonglong = at
        for i in range(levels):
            self.rules.find(word if i == 0 else word - 1, word)
            if self.rules.found_rule >= RULE_LIMIT:
                return CallLevel.IMPOSSIBLE
            self.registers.values[RIP] = word
            self.stepper.is_innermost = i == 0
            if self.stepper.step(self.rules.found_rule):
                return CallLevel.IMPOSSIBLE
            word = self.registers.values[RIP]
        return self.search.step(back, False, frame) if word == back else CallLevel.IMPOSSIBLE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_unknown_callee(self, back: cython.ulonglong, frame: cython.uint) -> cython.int:
        """The state is that of a function without a known rule, whose return address ``back`` is near."""
        i: cython.int
        sp: cython.ulonglong = self.registers.values[RSP]
        above: cython.ulonglong
        level: cython.int
        for i in range(NEAR_SLOTS):
            above = sp + 8 * cython.cast(cython.ulonglong, i + 1)
            if not self._holds(above - 8, back):
                continue
            self.registers.values[RSP] = above
            level = self.search.step(back, False, frame)
            if level < CallLevel.POSSIBLE and i > 0:
                # The callee may have set up its own frame pointer.
                self.search.restore()
                self.registers.values[RBP] = self.memory.load(above - 16)
                self.registers.values[RSP] = above
                level = self.search.step(back, False, frame)
            return level
        return CallLevel.IMPOSSIBLE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _holds(self, slot: cython.ulonglong, word: cython.ulonglong) -> cython.bint:
        """Whether the stack has a word at an address."""
        self.memory.fault = 0
        return self.memory.load(slot) == word and not self.memory.fault

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_past_jump(self, frame: cython.uint) -> cython.int:
        """The state is that of a function without a known rule that the frame's jumped to: its return address is near,
        and that of a call of the frame's function."""
        _i: cython.int
        slot: cython.ulonglong = self.registers.values[RSP]
        word: cython.ulonglong
        level: cython.int
        for _i in range(NEAR_SLOTS):
            self.memory.fault = 0
            word = self.memory.load(slot)
            if self.memory.fault:
                break
            slot += 8
            level = self.search.proof(word, frame)
            if level >= CallLevel.POSSIBLE:
                self.registers.values[RIP] = word
                self.registers.values[RSP] = slot
                return level
        return CallLevel.IMPOSSIBLE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _table(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the hypotheses for a frame begin."""
        known: cython.longlong = self.tables.get(frame)
        if known < 0:
            with cython.gil:
                known = self._add_table(frame)
            self.tables.put(frame, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_table(self, frame: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        address: int = stacks.frame_address[frame]
        entries = self.rules.source.code_evidence.entries(stacks.frame_image[frame], address)
        return self._add(
            [
                (one.position, one.address - address, one.return_address - address, one.levels, one.steps)
                for one in entries
            ]
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def _add(self, rows: list) -> cython.Py_ssize_t:  # type: ignore[type-arg]  # Cython's own list
        """Append a table; its first row says how many there are. One without rows has one that is no hypothesis."""
        first: cython.Py_ssize_t = self.entry_count
        needed: cython.Py_ssize_t = ENTRY_WORDS * (first + max(1, len(rows)))
        while needed > self.entries.shape[0]:
            self.entries = longer(self.entries, ENTRY_WORDS * first, 2 * self.entries.shape[0])
        for at, (position, offset, back, levels, steps) in enumerate(rows or [(-1, 0, 0, 0, 0)], first):
            self.entries[ENTRY_WORDS * at + POSITION] = position
            self.entries[ENTRY_WORDS * at + ADDRESS] = offset
            self.entries[ENTRY_WORDS * at + BACK] = back
            self.entries[ENTRY_WORDS * at + LEVELS] = levels
            self.entries[ENTRY_WORDS * at + STEPS] = steps
        self.entries[ENTRY_WORDS * first + ENTRIES] = max(1, len(rows))
        self.entry_count = first + max(1, len(rows))
        return first
