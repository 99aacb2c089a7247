# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Registers of precise samples, which are later than the sampled instruction, brought to the state of its caller.

A precise sample has the address of the exact instruction, but registers and stack of some instructions later (see
docs/precise.md). How much later is not recorded: a state must prove itself. The state that the sampled instruction's
own rule supposes is tried first; it is right if the return address follows a call that leads to the sampled function.
Else the positions that control flow reaches (:mod:`undwarf.unwind.exact_paths`) are tried, and the best proven one is
taken. Where the function has returned already, its return address is lost below the dump: the caller is the function
with a call of it whose own rule leads to a return address that proves itself.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers_x86_64 import RBP, REGISTERS, RIP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import Position
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_UNMAPPED

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.frame_states import FrameStates
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

PROVEN = cython.declare(cython.int, 3)
POSSIBLE = cython.declare(cython.int, 2)
UNKNOWN_CODE = cython.declare(cython.int, 1)
"""What :meth:`undwarf.unwind.exact_paths.CodeProof.level` gives."""
NEAR_SLOTS = cython.declare(cython.int, 16)
"""Words above the stack pointer that may hold a return address which at most REACH instructions are pushed on."""
CALLER_SLOTS = cython.declare(cython.int, 96)
"""Words above the stack pointer in which the return address of the caller is looked for, after a return."""
LONGEST_INSTRUCTION = cython.declare(cython.int, 15)
ENTRY_WORDS = cython.declare(cython.Py_ssize_t, 6)
"""Words of a hypothesis: position, address, return address (both counted from the sample's), levels, steps; and in the
first of a table, how many it has."""


@cython.final
@cython.cclass
class ExactState:
    """Corrects the registers of one sample at a time; ``outcome`` counts what was done."""

    saved: Any
    evidence: Any
    entries: Any
    caller_site: int
    caller_function: int

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        states: FrameStates,
        stepper: FrameStepper,
        chain: memoryview,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.states = states
        self.stepper = stepper
        self.chain = chain
        self.evidence = rules.source.code_evidence
        self.tables = IntMap()
        self.sites = IntMap()
        self.proofs = IntMap()
        self.steady = IntMap()
        self.entries = zeros("q", ENTRY_WORDS * 64)
        self.entry_count = 0
        self.as_it_is = self.corrected = self.returned = self.unproven = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def correct(self, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Correct the registers of the sample at hand, whose frames come after ``count`` frames of the chain.

        Returns how many frames were added to the chain: 0 where the registers fit as they are, and are unchanged; else
        they are those of the caller of the last frame added. -1000 where nothing proves a caller: the first frame is in
        the chain then.
        """
        values: cython.p_ulonglong = self.registers.values
        pc: cython.ulonglong = values[RIP]
        frame: cython.uint
        level: cython.int
        own: cython.int
        best: cython.int = 0
        best_entry: cython.Py_ssize_t = -1
        rule: cython.uint
        seen_rule: cython.uint = NOTHING
        fits: cython.bint = False
        kind: cython.longlong
        at: cython.ulonglong
        cfa: cython.ulonglong
        own_cfa: cython.ulonglong
        best_cfa: cython.ulonglong = 0
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        site: cython.ulonglong
        self.rules.find(pc, pc)
        frame = self.rules.found_frame
        if self.rules.found_rule >= RULE_LIMIT:
            return 0
        rule = self.rules.found_rule
        self._save()
        own = self._step_in_frame(pc, frame)
        if own == UNKNOWN_CODE and rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL:
            # In a signal's return trampoline: the rule gives what was interrupted.
            own = PROVEN
        own_cfa = self.registers.values[RSP]
        self._restore()
        if own == PROVEN and self._is_steady(frame):
            self.as_it_is += 1
            return 0
        first = self._table(frame)
        if own == PROVEN or (own and not self._leaves(first)):
            best = own
            best_entry = first
            best_cfa = own_cfa
        last = first + self.entries[ENTRY_WORDS * first + 5]
        for entry in range(first + 1, last):
            kind = self.entries[ENTRY_WORDS * entry]
            if kind == Position.IN_FRAME:
                at = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + 1])
                self.rules.find(at, at)
                if self.rules.found_rule == seen_rule:
                    continue
                seen_rule = self.rules.found_rule
                if seen_rule == rule:
                    fits = True
                    continue
            level = self._try(entry, pc, frame)
            cfa = self.registers.values[RSP]
            self._restore()
            # Of hypotheses that are proven alike, that of the nearest caller: false ones leave frames out.
            if kind == Position.IN_FRAME and level and cfa == best_cfa:
                fits = True
            if level > best or (
                level == best
                and best
                and (
                    cfa < best_cfa
                    or (cfa == best_cfa and kind == Position.PAST_RETURN and best_entry == first and not fits)
                )
            ):
                best = level
                best_entry = entry
                best_cfa = cfa
        if best_entry < 0:
            if last - first <= 1:
                # No later state is possible.
                self.as_it_is += 1
                return 0
            self.rules.find(pc, pc)
            self.chain[count] = self.rules.found_frame
            self.states.count = 0
            self.states.keep(0, True)
            self.unproven += 1
            return -1000
        if best_entry == first:
            self.as_it_is += 1
            return 0
        self.states.count = 0
        self.states.keep(0, True)
        self.chain[count] = frame
        self._try(best_entry, pc, frame)
        self.corrected += 1
        if self.entries[ENTRY_WORDS * best_entry] != Position.PAST_RETURN:
            return 1
        self.returned += 1
        site = self.caller_site
        self.rules.find(site - 1, site)
        self.chain[count + 1] = self.rules.stacks.with_provenance(self.rules.found_frame, Provenance.INFERRED_CALLER)
        self.states.keep(1, False)
        return 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _leaves(self, table: cython.Py_ssize_t) -> cython.bint:
        """Whether the sampled instruction is a call or a return: the state is past it then, as a rule."""
        entry: cython.Py_ssize_t
        for entry in range(table, table + self.entries[ENTRY_WORDS * table + 5]):
            if self.entries[ENTRY_WORDS * entry + 4] == 1 and self.entries[ENTRY_WORDS * entry] != Position.IN_FRAME:
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
    def _save(self) -> cython.int:
        """Keep the registers of the sample."""
        i: cython.int
        for i in range(REGISTERS):
            self.saved[i] = self.registers.values[i]
        self.saved_known = self.registers.known
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _restore(self) -> cython.int:
        """Take the registers of the sample again."""
        i: cython.int
        for i in range(REGISTERS):
            self.registers.values[i] = self.saved[i]
        self.registers.known = self.saved_known
        self.memory.fault = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_code(self, address: cython.ulonglong) -> cython.bint:
        """Whether an address is in an executable mapping; what is not gets no frame."""
        entry: cython.Py_ssize_t = self.rules.mapping(self.rules.space, address)
        return entry >= 0 and self.rules.flags[entry] != 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _proof(self, return_address: cython.ulonglong, callee: cython.uint) -> cython.int:
        """Whether a return address proves itself as that of a call of the function of frame ``callee``: as
        :meth:`undwarf.unwind.exact_paths.CodeProof.level`."""
        frame: cython.uint
        key: cython.ulonglong
        known: cython.longlong
        if not self._is_code(return_address - 1):
            return 0
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule == RULE_UNMAPPED or self.rules.found_image == NOTHING:
            return 0
        if (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            # A signal handler returns there.
            return POSSIBLE
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
        found: cython.int = self.evidence.call_level(
            stacks.frame_image[caller], stacks.frame_address[caller], stacks.frame_image[callee],
            stacks.frame_address[callee],
        )  # fmt: skip
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _step_in_frame(self, pc: cython.ulonglong, callee: cython.uint) -> cython.int:
        """Go to the caller by the rule at an address; the proof of what is found, for the function of ``callee``."""
        reason: cython.int
        self.rules.find(pc, pc)
        if self.rules.found_rule >= RULE_LIMIT:
            return 0
        self.registers.values[RIP] = pc
        self.stepper.is_innermost = True
        reason = self.stepper.step(self.rules.found_rule)
        if reason == StopReason.ROOT:
            return POSSIBLE
        return 0 if reason else self._proof(self.registers.values[RIP], callee)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _step_from_call(self, return_address: cython.ulonglong, callee: cython.uint) -> cython.int:
        """Go to the caller of the frame that has called, by the rule at its return address; the proof."""
        reason: cython.int
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule >= RULE_LIMIT:
            return 0
        self.registers.values[RIP] = return_address
        self.stepper.is_innermost = False
        reason = self.stepper.step(self.rules.found_rule)
        if reason == StopReason.ROOT:
            return POSSIBLE
        return 0 if reason else self._proof(self.registers.values[RIP], callee)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try(self, entry: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint) -> cython.int:
        """Go to the caller of the sample's frame under one hypothesis; its proof, 0 where it is not possible."""
        kind: cython.longlong = self.entries[ENTRY_WORDS * entry]
        at: cython.ulonglong = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + 1])
        back: cython.ulonglong = pc + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + 2])
        levels: cython.longlong = self.entries[ENTRY_WORDS * entry + 3]
        i: cython.int
        word: cython.ulonglong
        sp: cython.ulonglong = self.registers.values[RSP]
        level: cython.int
        if kind == Position.IN_FRAME:
            return self._step_in_frame(at, frame)
        if kind == Position.IN_CALLEE:
            self.registers.values[RIP] = at
            for i in range(cython.cast(cython.int, levels)):
                word = self.registers.values[RIP]
                self.rules.find(word if i == 0 else word - 1, word)
                if self.rules.found_rule >= RULE_LIMIT:
                    return 0
                self.stepper.is_innermost = i == 0
                if self.stepper.step(self.rules.found_rule):
                    return 0
            if self.registers.values[RIP] != back:
                return 0
            return self._step_from_call(back, frame)
        if kind == Position.PAST_RETURN:
            return self._find_caller(frame)
        for i in range(NEAR_SLOTS):
            self.memory.fault = 0
            word = self.memory.load(sp + 8 * cython.cast(cython.ulonglong, i))
            if self.memory.fault:
                return 0
            if kind == Position.PAST_JUMP:
                level = self._proof(word, frame)
                if level >= POSSIBLE:
                    self.registers.values[RIP] = word
                    self.registers.values[RSP] = sp + 8 * cython.cast(cython.ulonglong, i + 1)
                    return level
            elif word == back:
                self.registers.values[RSP] = sp + 8 * cython.cast(cython.ulonglong, i + 1)
                level = self._step_from_call(back, frame)
                if level < POSSIBLE and i > 0:
                    # The callee may have set up its own frame pointer.
                    self._restore()
                    self.registers.values[RBP] = self.memory.load(sp + 8 * cython.cast(cython.ulonglong, i - 1))
                    self.registers.values[RSP] = sp + 8 * cython.cast(cython.ulonglong, i + 1)
                    level = self._step_from_call(back, frame)
                return level
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _find_caller(self, frame: cython.uint) -> cython.int:
        """Find the frame to which the function of ``frame`` has returned, whose registers these are, and go to its
        caller; sets ``caller_site`` to the return address. 0 where there is none, or several functions are alike.

        Callers are those with a direct call of the function, and those that a return address on the stack names as
        called; of these the one with the nearest return address.
        """
        i: cython.int
        word: cython.ulonglong
        slot: cython.ulonglong
        sp: cython.ulonglong = self.registers.values[RSP]
        pc: cython.ulonglong = self.registers.values[RIP]
        level: cython.int
        self.caller_level = 0
        self.caller_cfa = ALL_ONES
        self._try_sites(self._sites_of(frame), pc, 0, frame)
        for i in range(-1, CALLER_SLOTS):
            self.memory.fault = 0
            # First where the frame pointer has it, if it is one.
            slot = self.saved[RBP] + 8 if i < 0 else sp + 8 * cython.cast(cython.ulonglong, i)
            if slot <= sp or slot & 7 or slot >= self.caller_cfa:
                continue
            word = self.memory.load(slot)
            if self.memory.fault:
                continue
            if self._is_code(word - 1) and self.rules.follows_call(word):
                self._try_sites(self._sites_between(self.rules.found_frame, frame), word, word, frame)
        self._restore()
        if self.caller_level == 0:
            return 0
        level = self.caller_level
        self._step_from_call(self.caller_site, frame)
        return level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _try_sites(
        self, table: cython.Py_ssize_t, base: cython.ulonglong, wanted: cython.ulonglong, frame: cython.uint
    ) -> cython.int:
        """Try the calls of a table, whose return addresses count from ``base``, as the one that ``frame`` returned to:
        the rule there must lead to the return address ``wanted`` (0: any that proves itself)."""
        entry: cython.Py_ssize_t
        last: cython.Py_ssize_t = table + self.entries[ENTRY_WORDS * table + 5]
        site: cython.ulonglong
        cfa: cython.ulonglong
        level: cython.int
        caller: cython.uint
        function: cython.ulonglong
        for entry in range(table, last):
            if self.entries[ENTRY_WORDS * entry] < 0:
                continue
            site = base + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + 1])
            self.rules.find(site - 1, site)
            if self.rules.found_rule >= RULE_LIMIT:
                continue
            caller = self.rules.found_frame
            level = self._step_from_call(site, caller)
            if wanted and self.registers.values[RIP] != wanted:
                level = 0
            level = min(level, self._proof(site, frame))
            cfa = self.registers.values[RSP]
            self._restore()
            if level < POSSIBLE or cfa > self.caller_cfa or (cfa == self.caller_cfa and level < self.caller_level):
                continue
            function = base + cython.cast(cython.ulonglong, self.entries[ENTRY_WORDS * entry + 2])
            if cfa == self.caller_cfa and level == self.caller_level:
                if function != self.caller_function:
                    # Nothing tells which of them it was.
                    self.caller_function = 0
                continue
            self.caller_cfa = cfa
            self.caller_level = level
            self.caller_site = site
            self.caller_function = function
        if self.caller_function == 0:
            self.caller_level = 0
        return 0

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
    @cython.nogil
    @cython.exceptval(-1)
    def _sites_of(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the direct calls of a frame's function begin."""
        key: cython.ulonglong = frame
        known: cython.longlong = self.sites.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_sites_of(frame)
            self.sites.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _sites_between(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Where those calls begin that may lead to the function of ``callee``, in the function that is called before
        the return address of ``caller``."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, caller + 1) << 32 | callee
        known: cython.longlong = self.sites.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_sites_between(caller, callee)
            self.sites.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_table(self, frame: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        address: int = stacks.frame_address[frame]
        paths = self.evidence.paths(stacks.frame_image[frame])
        return self._add(
            [
                (one.position, one.address - address, one.return_address - address, one.levels, one.steps)
                for one in (paths.entries(address))
            ]
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites_of(self, frame: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        address: int = stacks.frame_address[frame]
        return self._add_sites(self.evidence.sites_of(stacks.frame_image[frame], address), address)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites_between(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        stacks = self.rules.stacks
        back: int = stacks.frame_address[caller] + 1
        sites = self.evidence.sites_between(
            stacks.frame_image[caller], stacks.frame_address[caller], stacks.frame_image[callee],
            stacks.frame_address[callee],
        )  # fmt: skip
        return self._add_sites(sites, back)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_sites(self, sites: list, base: cython.ulonglong) -> cython.Py_ssize_t:  # type: ignore[type-arg]  # Cython's own list
        """Append a table of calls: return address, function."""
        start: int = base
        return self._add([(0, one.return_address - start, one.function - start, 0, 0) for one in sites])

    @cython.cfunc
    @cython.exceptval(-1)
    def _add(self, rows: list) -> cython.Py_ssize_t:  # type: ignore[type-arg]  # Cython's own list
        """Append a table; its first row says how many there are. One without rows has one that is no hypothesis."""
        first: cython.Py_ssize_t = self.entry_count
        needed: cython.Py_ssize_t = ENTRY_WORDS * (first + max(1, len(rows)))
        while needed > self.entries.shape[0]:
            self.entries = longer(self.entries, ENTRY_WORDS * first, 2 * self.entries.shape[0])
        for at, (position, offset, back, levels, steps) in enumerate(rows or [(-1, 0, 0, 0, 0)], first):
            self.entries[ENTRY_WORDS * at] = position
            self.entries[ENTRY_WORDS * at + 1] = offset
            self.entries[ENTRY_WORDS * at + 2] = back
            self.entries[ENTRY_WORDS * at + 3] = levels
            self.entries[ENTRY_WORDS * at + 4] = steps
        self.entries[ENTRY_WORDS * first + 5] = max(1, len(rows))
        self.entry_count = first + max(1, len(rows))
        return first
