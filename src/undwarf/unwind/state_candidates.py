# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""States that the registers of one precise sample may be, each with its callers, its proof and its weight."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables.registers import RIP, RSP
from cython.cimports.undwarf.unwind.exact_positions import CallLevel, Position
from cython.cimports.undwarf.unwind.state_candidates import CANDIDATES

from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.position_table import PositionTable

FAR_LIKELIER = cython.declare(cython.ulonglong, 8)
"""How many times the next candidate's likelihood must be exceeded. On the programs of docs/explanation/precise.md with
a skid of 1 to 12 instructions: 1: 1.8 % false and 0.7 % cut of all stacks; 4: 1.3 and 2.0 %; 8: 1.0 and 2.8 %; 16: 0.8
and 3.5."""


@cython.final
@cython.cclass
class StateCandidates:
    """The candidates of one sample at a time. ``returned``, ``sites`` and ``functions`` describe the one to be
    added."""

    found: Any
    sites: Any
    functions: Any
    returned: int
    last_rule: int
    last_base: int
    last: int

    def __init__(self, steps: CallSteps, positions: PositionTable) -> None:
        self.steps = steps
        self.positions = positions
        self.count = self.returned = 0

    def clear(self) -> cython.int:
        """Forget all candidates."""
        self.count = self.returned = 0
        self.last_rule = NOTHING
        return 0

    def add(
        self,
        position: cython.Py_ssize_t,
        base: cython.ulonglong,
        frame: cython.uint,
        slot: cython.ulonglong,
        least: cython.int,
        weight: cython.ulonglong,
        distance: cython.int,
    ) -> cython.int:
        """Try a position, and keep it if its callers may be true; ``slot``: where the return address must be (0:
        anywhere); ``least``: how well the calls below are proven. Returns the CallLevel of all. Others as for
        :meth:`PositionTable.attempt`. Those of one address are added one after the other."""
        at: cython.Py_ssize_t
        i: cython.int
        same: cython.bint
        caller: cython.ulonglong
        cfa: cython.ulonglong
        level: cython.int
        rule: cython.uint = NOTHING
        if self.positions.kinds[position] == Position.IN_FRAME:
            # Positions with one rule in a row have one outcome.
            caller = base + cython.cast(cython.ulonglong, self.positions.addresses[position])
            self.steps.rules.find(caller, caller)
            rule = self.steps.rules.found_rule
            if rule == self.last_rule and base == self.last_base:
                if self.last >= 0:
                    self.found[self.last].weight += weight
                    self.found[self.last].distance = min(distance, self.found[self.last].distance)
                return CallLevel.POSSIBLE if self.last >= 0 else CallLevel.IMPOSSIBLE
        self.last_rule, self.last_base, self.last = rule, base, -1
        self.steps.restore()
        level = min(self.positions.attempt(position, base, frame), least)
        if level == CallLevel.IMPOSSIBLE or (level == CallLevel.UNKNOWN and self.returned):
            return CallLevel.IMPOSSIBLE
        caller = self.steps.registers.values[RIP]
        cfa = self.steps.registers.values[RSP]
        if slot and cfa != slot + 8:
            return CallLevel.IMPOSSIBLE
        for at in range(self.count):
            same = (
                self.found[at].caller == caller
                and self.found[at].cfa == cfa
                and self.found[at].returned == self.returned
            )
            for i in range(self.returned):
                same = same and self.found[at].functions[i] == self.functions[i]
            if same:
                self.found[at].level = max(level, self.found[at].level)
                self.found[at].weight += weight
                self.found[at].distance = min(distance, self.found[at].distance)
                self.last = at
                if weight <= self.found[at].position_weight:
                    return level
                break
        else:
            if self.count == CANDIDATES or self.steps.next_is_false():
                return CallLevel.IMPOSSIBLE
            at = self.count
            self.count += 1
            self.found[at].level = level
            self.found[at].weight = weight
            self.found[at].distance = distance
            self.found[at].caller = caller
            self.found[at].cfa = cfa
            self.found[at].returned = self.returned
        self.last = at
        self.found[at].position = position
        self.found[at].position_weight = weight
        self.found[at].base = base
        self.found[at].frame = frame
        for i in range(self.returned):
            self.found[at].sites[i] = self.sites[i]
            self.found[at].functions[i] = self.functions[i]
        return level

    def only(self) -> cython.Py_ssize_t:
        """The candidate that is better proven than all others; -1 without one."""
        at: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        level: cython.int = CallLevel.IMPOSSIBLE
        for at in range(self.count):
            if self.found[at].level > level:
                best, level = at, self.found[at].level
            elif self.found[at].level == level:
                best = -1
        if best >= 0 and self.found[best].returned and (level < CallLevel.PROVEN or self.count > 1):
            # Others may call by a pointer, too.
            return -1
        return best

    def entered_from(self, back: cython.ulonglong) -> cython.Py_ssize_t:
        """The best proven candidate in the callee of the call that returns to ``back``; -1 without one."""
        at: cython.Py_ssize_t
        position: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        level: cython.int = CallLevel.UNKNOWN
        for at in range(self.count):
            position = self.found[at].position
            if (
                self.positions.kinds[position] in (Position.IN_CALLEE, Position.IN_UNKNOWN_CALLEE)
                and self.found[at].base + cython.cast(cython.ulonglong, self.positions.return_addresses[position])
                == back
                and self.found[at].level > level
            ):
                best, level = at, self.found[at].level
        return best

    def likeliest(self, frame: cython.uint, counts: CallCounts) -> cython.Py_ssize_t:
        """The candidate that is by far the likeliest, -1 without one: by the share of paths to it, its proof, and how
        often its calls are in other stacks. ``frame``: the sampled one."""
        at: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        score: cython.ulonglong
        most: cython.ulonglong = 0
        second: cython.ulonglong = 0
        for at in range(self.count):
            score = self._score(at, frame, counts)
            if score > most:
                best, second, most = at, most, score
            elif score > second:
                second = score
        return best if second * FAR_LIKELIER < most else -1

    def _score(self, at: cython.Py_ssize_t, frame: cython.uint, counts: CallCounts) -> cython.ulonglong:
        """How likely a candidate is, in relation to others. 0 where a function has returned, and one of the calls is
        neither proven nor in any other stack: the caller may be another one that calls by a pointer."""
        i: cython.int
        least: cython.Py_ssize_t = 1 << 20
        callee: cython.uint = frame
        caller: cython.uint
        found: cython.Py_ssize_t
        back: cython.ulonglong
        returned: cython.int = self.found[at].returned
        for i in range(returned + 1):
            back = self.found[at].sites[i] if i < returned else self.found[at].caller
            self.steps.rules.find(back - 1, back)
            caller = self.steps.rules.found_frame
            found = counts.count(caller, callee)
            if found == 0 and returned and self.steps.proof(back, callee) < CallLevel.PROVEN:
                return 0
            least = min(least, found)
            callee = caller
        weight: cython.ulonglong = self.found[at].weight >> 6
        level: cython.int = self.found[at].level
        return weight * cython.cast(cython.ulonglong, 8 * least + 1) << level

    def take(self, candidate: cython.Py_ssize_t) -> cython.int:
        """Set the registers to those of the caller that a candidate has."""
        self.steps.restore()
        self.positions.attempt(self.found[candidate].position, self.found[candidate].base, self.found[candidate].frame)
        return 0
