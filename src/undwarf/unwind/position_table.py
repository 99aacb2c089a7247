# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Positions that control flow reaches from an instruction, and the step from each to the caller of its frame."""

from typing import Any

import cython
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.unwind.exact_positions import NEAR_SLOTS, CallLevel, Position
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_steps import CallSteps


@cython.final
@cython.cclass
class PositionTable:
    """Positions by the address that they are reached from, found by :mod:`undwarf.unwind.exact_paths` once for each."""

    kinds: Any
    addresses: Any
    return_addresses: Any
    levels: Any
    distances: Any
    weights: Any
    counts: Any

    def __init__(self, steps: CallSteps) -> None:
        self.steps = steps
        self.firsts = IntMap()
        self.used = 0
        self.kinds, self.levels, self.distances = zeros("B", 64), zeros("B", 64), zeros("B", 64)
        self.addresses, self.return_addresses = zeros("q", 64), zeros("q", 64)
        self.weights, self.counts = zeros("I", 64), zeros("I", 64)

    def of_sample(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the positions begin that are reached from the address of a frame."""
        return self._first(frame, 0)

    def of_return(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the positions begin that are reached from the return address of a frame."""
        return self._first(frame, 1)

    def attempt(self, at: cython.Py_ssize_t, base: cython.ulonglong, frame: cython.uint) -> cython.int:
        """Go to the caller of a frame as if the registers were those of a position, which is reached from the address
        ``base`` of that frame; the CallLevel of the caller's return address."""
        kind: cython.int = self.kinds[at]
        address: cython.ulonglong = base + cython.cast(cython.ulonglong, self.addresses[at])
        back: cython.ulonglong = base + cython.cast(cython.ulonglong, self.return_addresses[at])
        if kind == Position.IN_FRAME:
            return self.steps.step(address, True, frame)
        if kind == Position.IN_CALLEE:
            return self._attempt_callee(address, back, self.levels[at], frame)
        if kind == Position.IN_UNKNOWN_CALLEE:
            return self._attempt_unknown_callee(back, frame)
        if kind == Position.PAST_JUMP:
            return self._attempt_past_jump(frame)
        return CallLevel.IMPOSSIBLE

    def _attempt_callee(
        self, at: cython.ulonglong, back: cython.ulonglong, levels: cython.int, frame: cython.uint
    ) -> cython.int:
        """The state is that of an address ``levels`` calls further in, the outermost of which returns to ``back``."""
        i: cython.int
        word: cython.ulonglong = at
        for i in range(levels):
            self.steps.rules.find(word if i == 0 else word - 1, word)
            if self.steps.rules.found_rule >= RULE_LIMIT:
                return CallLevel.IMPOSSIBLE
            self.steps.registers.values[RIP] = word
            self.steps.stepper.is_innermost = i == 0
            if self.steps.stepper.step(self.steps.rules.found_rule):
                return CallLevel.IMPOSSIBLE
            word = self.steps.registers.values[RIP]
        return self.steps.step(back, False, frame) if word == back else CallLevel.IMPOSSIBLE

    def _attempt_unknown_callee(self, back: cython.ulonglong, frame: cython.uint) -> cython.int:
        """The state is that of a function without a known rule, whose return address ``back`` is near."""
        i: cython.int
        sp: cython.ulonglong = self.steps.registers.values[RSP]
        above: cython.ulonglong
        level: cython.int
        for i in range(NEAR_SLOTS):
            above = sp + 8 * cython.cast(cython.ulonglong, i + 1)
            if not self._holds(above - 8, back):
                continue
            self.steps.registers.values[RSP] = above
            level = self.steps.step(back, False, frame)
            if level < CallLevel.POSSIBLE and i > 0:
                # The callee may have set up its own frame pointer.
                self.steps.restore()
                self.steps.registers.values[RBP] = self.steps.memory.load(above - 16)
                self.steps.registers.values[RSP] = above
                level = self.steps.step(back, False, frame)
            return level
        return CallLevel.IMPOSSIBLE

    def _holds(self, slot: cython.ulonglong, word: cython.ulonglong) -> cython.bint:
        """Whether the stack has a word at an address."""
        self.steps.memory.fault = 0
        return self.steps.memory.load(slot) == word and not self.steps.memory.fault

    def _attempt_past_jump(self, frame: cython.uint) -> cython.int:
        """The state is that of a function without a known rule that the frame's jumped to: its return address is near,
        and that of a call of the frame's function."""
        _i: cython.int
        slot: cython.ulonglong = self.steps.registers.values[RSP]
        word: cython.ulonglong
        level: cython.int
        best: cython.int = CallLevel.UNKNOWN
        for _i in range(NEAR_SLOTS):
            self.steps.memory.fault = 0
            word = self.steps.memory.load(slot)
            if self.steps.memory.fault:
                break
            slot += 8
            level = self.steps.proof(word, frame)
            if level > best:
                best = level
                self.steps.registers.values[RIP] = word
                self.steps.registers.values[RSP] = slot
        return best if best > CallLevel.UNKNOWN else CallLevel.IMPOSSIBLE

    def _first(self, frame: cython.uint, is_return: cython.int) -> cython.Py_ssize_t:
        key: cython.ulonglong = cython.cast(cython.ulonglong, frame) << 1 | cython.cast(cython.ulonglong, is_return)
        known: cython.longlong = self.firsts.get(key)
        if known < 0:
            with cython.gil:
                known = self._add(frame, is_return)
            self.firsts.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    def _add(self, frame: cython.uint, is_return: cython.int) -> cython.Py_ssize_t:
        """Append the positions of an address; there is always one, that of the address itself."""
        stacks = self.steps.rules.stacks
        address: int = stacks.frame_address[frame] + is_return
        found = self.steps.rules.source.code_evidence.positions(stacks.frame_image[frame], address)
        first: cython.Py_ssize_t = self.used
        self._grow(first + len(found))
        for at, one in enumerate(found, first):
            self.kinds[at], self.levels[at], self.distances[at] = one.position, one.levels, one.steps
            self.addresses[at], self.return_addresses[at] = one.address - address, one.return_address - address
            self.weights[at] = one.weight
        self.counts[first] = len(found)
        self.used = first + len(found)
        return first

    def _grow(self, rows: cython.Py_ssize_t) -> cython.int:
        size: cython.Py_ssize_t = self.kinds.shape[0]
        wanted: cython.Py_ssize_t = size
        while wanted < rows:
            wanted *= 2
        if wanted > size:
            self.kinds, self.levels = longer(self.kinds, size, wanted), longer(self.levels, size, wanted)
            self.distances, self.weights = longer(self.distances, size, wanted), longer(self.weights, size, wanted)
            self.addresses = longer(self.addresses, size, wanted)
            self.return_addresses = longer(self.return_addresses, size, wanted)
            self.counts = longer(self.counts, size, wanted)
        return 0
