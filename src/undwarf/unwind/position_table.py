# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Positions that control flow reaches from an instruction, and the step from each to the caller of its frame."""

from typing import Any

import cython
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.unwind.exact_positions import CALLEE_SLOTS, NEAR_SLOTS, REACH, CallLevel, Position
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.instruction_flows import InstructionFlows
from undwarf.unwind.path_positions import PathPositions


@cython.final
@cython.cclass
class PositionTable:
    """Positions by the address that they are reached from, found by :class:`PathPositions` once for each."""

    places: dict[tuple[int, int], int]
    kinds: Any
    addresses: Any
    return_addresses: Any
    rules: Any
    levels: Any
    distances: Any
    weights: Any
    counts: Any

    def __init__(self, steps: CallSteps) -> None:
        self.steps = steps
        self.paths = PathPositions()
        self.reach = REACH
        self.places = {}
        self.firsts = IntMap()
        self.used = 0
        self.kinds, self.levels, self.distances = zeros("B", 64), zeros("B", 64), zeros("B", 64)
        self.addresses, self.return_addresses = zeros("q", 64), zeros("q", 64)
        self.rules, self.weights, self.counts = zeros("I", 64), zeros("I", 64), zeros("I", 64)

    def of_sample(self, frame: cython.uint) -> cython.Py_ssize_t:
        """Where the positions begin that are reached from the address of a frame."""
        known: cython.longlong = self.firsts.get(frame)
        if known < 0:
            with cython.gil:
                known = self._of_frame(frame)
            self.firsts.put(frame, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    def _of_frame(self, frame: cython.uint) -> cython.Py_ssize_t:
        stacks = self.steps.rules.stacks
        return self.of_address(stacks.frame_image[frame], stacks.frame_address[frame])

    def of_address(self, image: cython.uint, address: cython.ulonglong) -> cython.Py_ssize_t:
        """Where the positions begin that are reached from an address of an image."""
        known = self.places.get((image, address))
        if known is None:
            known = self.places[image, address] = self._add(image, address)
        return known

    def _add(self, image: cython.uint, address: cython.ulonglong) -> cython.Py_ssize_t:
        """Append the positions reached from an address of an image, and say where they begin; there is always one, that
        of the address itself."""
        evidence = self.steps.rules.source.code_evidence
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.used
        flows: InstructionFlows
        with evidence.lock:
            flows = evidence.flows_of(image)
            self.paths.find(flows, address, self.reach)
        self._grow(first + self.paths.count)
        for i in range(self.paths.count):
            at = first + i
            self.kinds[at] = cython.cast(cython.uchar, self.paths.found[i].kind)
            self.levels[at] = cython.cast(cython.uchar, self.paths.found[i].levels)
            self.distances[at] = cython.cast(cython.uchar, self.paths.found[i].distance)
            self.weights[at] = cython.cast(cython.uint, self.paths.found[i].weight)
            self.addresses[at] = cython.cast(cython.longlong, self.paths.found[i].address - address)
            self.return_addresses[at] = cython.cast(cython.longlong, self.paths.found[i].return_address - address)
            self.rules[at] = RULE_LIMIT
            if self.paths.found[i].kind <= Position.IN_CALLEE:
                self.rules[at] = self.steps.rules.rule_in(image, self.paths.found[i].address)
        self.counts[first] = cython.cast(cython.uint, self.paths.count)
        self.used = first + self.paths.count
        return first

    def attempt(self, at: cython.Py_ssize_t, base: cython.ulonglong, function: cython.uint) -> cython.int:
        """Go to the caller of a function as if the registers were those of a position, which is reached from its
        address ``base``; the CallLevel of the caller's return address."""
        kind: cython.int = self.kinds[at]
        back: cython.ulonglong = base + cython.cast(cython.ulonglong, self.return_addresses[at])
        if kind == Position.IN_FRAME:
            return self.steps.step_by(
                self.rules[at], base + cython.cast(cython.ulonglong, self.addresses[at]), True, function
            )
        if kind == Position.IN_CALLEE:
            return self._attempt_callee(at, base, back, function)
        if kind == Position.IN_UNKNOWN_CALLEE:
            return self._attempt_unknown_callee(back, function)
        if kind == Position.PAST_JUMP:
            return self._attempt_past_jump(function)
        return CallLevel.IMPOSSIBLE

    def _attempt_callee(
        self, at: cython.Py_ssize_t, base: cython.ulonglong, back: cython.ulonglong, function: cython.uint
    ) -> cython.int:
        """The state is that of an address some calls further in, the outermost of which returns to ``back``."""
        i: cython.int
        rule: cython.uint = self.rules[at]
        word: cython.ulonglong = base + cython.cast(cython.ulonglong, self.addresses[at])
        for i in range(self.levels[at]):
            if i > 0:
                self.steps.rules.find(word - 1, word)
                rule = self.steps.rules.found_rule
            if rule >= RULE_LIMIT:
                return CallLevel.IMPOSSIBLE
            self.steps.registers.values[RIP] = word
            self.steps.stepper.is_innermost = i == 0
            if self.steps.stepper.step(rule):
                return CallLevel.IMPOSSIBLE
            word = self.steps.registers.values[RIP]
        return self.steps.step(back, False, function) if word == back else CallLevel.IMPOSSIBLE

    def _attempt_unknown_callee(self, back: cython.ulonglong, function: cython.uint) -> cython.int:
        """The state is that of a function without a known rule, whose return address ``back`` is near."""
        i: cython.int
        sp: cython.ulonglong = self.steps.registers.values[RSP]
        above: cython.ulonglong
        level: cython.int
        for i in range(CALLEE_SLOTS):
            above = sp + 8 * cython.cast(cython.ulonglong, i + 1)
            if not self._holds(above - 8, back):
                continue
            self._leave_frame_pointer(above)
            self.steps.registers.values[RSP] = above
            level = self.steps.step(back, False, function)
            # The frame that the callee returns to is above that place.
            if i > 0 and (level < CallLevel.POSSIBLE or self.steps.registers.values[RSP] <= above):
                # A callee further in may have set up its own.
                self.steps.restore()
                self.steps.registers.values[RBP] = self.steps.memory.load(above - 16)
                self.steps.registers.values[RSP] = above
                level = self.steps.step(back, False, function)
            return level if self.steps.registers.values[RSP] > above else CallLevel.IMPOSSIBLE
        return CallLevel.IMPOSSIBLE

    def _holds(self, slot: cython.ulonglong, word: cython.ulonglong) -> cython.bint:
        """Whether the stack has a word at an address."""
        self.steps.memory.fault = 0
        return self.steps.memory.load(slot) == word and not self.steps.memory.fault

    def _attempt_past_jump(self, function: cython.uint) -> cython.int:
        """The state is that of a function without a known rule that this one jumped to: its return address is near, and
        that of a call of this one."""
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
            level = self.steps.proof(word, function)
            if level > best:
                best = level
                self.steps.registers.values[RIP] = word
                self.steps.registers.values[RSP] = slot
        if best == CallLevel.UNKNOWN:
            return CallLevel.IMPOSSIBLE
        self._leave_frame_pointer(self.steps.registers.values[RSP])
        return best

    def _leave_frame_pointer(self, above: cython.ulonglong) -> cython.int:
        """Take the caller's frame pointer, if the function whose return address is below ``above`` has saved it and set
        up its own: it points right there."""
        if self.steps.registers.values[RBP] == above - 16:
            self.steps.registers.values[RBP] = self.steps.memory.load(above - 16)
        return 0

    def _grow(self, rows: cython.Py_ssize_t) -> cython.int:
        size: cython.Py_ssize_t = self.kinds.shape[0]
        wanted: cython.Py_ssize_t = size
        while wanted < rows:
            wanted *= 2
        if wanted > size:
            self.kinds, self.levels = longer(self.kinds, size, wanted), longer(self.levels, size, wanted)
            self.distances, self.weights = longer(self.distances, size, wanted), longer(self.weights, size, wanted)
            self.addresses, self.rules = longer(self.addresses, size, wanted), longer(self.rules, size, wanted)
            self.return_addresses = longer(self.return_addresses, size, wanted)
            self.counts = longer(self.counts, size, wanted)
        return 0
