# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""States that the registers of one precise sample may be, each with its callers, its proof and its weight."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RIP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel, Position
from cython.cimports.undwarf.unwind.state_candidates import CANDIDATES
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.position_table import PositionTable

UNSEEN = cython.declare(cython.double, 0.25)
"""Samples that a call counts for which is in none."""
FAR_LIKELIER = cython.declare(cython.double, 6)
"""How many times the next candidate's likelihood must be exceeded. On the programs of docs/explanation/precise.md with
a skid of 1 to 12 instructions: 4: 0.8 % false and 6.9 % cut of all stacks; 6: 0.5 and 7.6 %; 8: 0.4 and 8.2 %."""
MAX_CALLERS = cython.declare(cython.int, 16)
"""Callers of a candidate that are compared with those of others."""


@cython.final
@cython.cclass
class StateCandidates:
    """The candidates of one sample at a time. ``returned``, ``sites`` and ``functions`` describe the one to be
    added."""

    found: Any
    sites: Any
    functions: Any
    scores: Any
    returned: int
    last_rule: int
    last_base: int
    last_depth: int
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
        function: cython.uint,
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
        caller: cython.ulonglong
        cfa: cython.ulonglong
        level: cython.int
        rule: cython.uint = NOTHING
        depth: cython.ulonglong = 0
        if self.positions.kinds[position] == Position.IN_FRAME:
            # Positions with one rule, and as much on the stack, have one outcome.
            rule = self.positions.rules[position]
            depth = self.steps.depth(
                rule, base + cython.cast(cython.ulonglong, self.positions.addresses[position]), True
            )
            if rule == self.last_rule and base == self.last_base and depth == self.last_depth:
                if self.last >= 0:
                    self.found[self.last].weight += weight
                    self.found[self.last].distance = min(distance, self.found[self.last].distance)
                return CallLevel.POSSIBLE if self.last >= 0 else CallLevel.IMPOSSIBLE
        self.last_rule, self.last_base, self.last_depth, self.last = rule, base, depth, -1
        self.steps.restore()
        level = min(self.positions.attempt(position, base, function), least)
        if level == CallLevel.IMPOSSIBLE or (level == CallLevel.UNKNOWN and self.returned):
            return CallLevel.IMPOSSIBLE
        caller = self.steps.registers.values[RIP]
        cfa = self.steps.registers.values[RSP]
        if slot and cfa != slot + 8:
            return CallLevel.IMPOSSIBLE
        at = self._with_callers(caller, cfa)
        if at >= 0:
            self.found[at].level = max(level, self.found[at].level)
            self.found[at].weight += weight
            self.found[at].distance = min(distance, self.found[at].distance)
            if weight <= self.found[at].position_weight:
                self.last = at
                return level
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
        self.found[at].function = function
        for i in range(self.returned):
            self.found[at].sites[i] = self.sites[i]
            self.found[at].functions[i] = self.functions[i]
        return level

    def _with_callers(self, caller: cython.ulonglong, cfa: cython.ulonglong) -> cython.Py_ssize_t:
        """The candidate with this caller and call frame address, after returns to the calls at hand; -1 without one."""
        at: cython.Py_ssize_t
        i: cython.int
        same: cython.bint
        for at in range(self.count):
            same = (
                self.found[at].caller == caller
                and self.found[at].cfa == cfa
                and self.found[at].returned == self.returned
            )
            for i in range(self.returned):
                same = same and self.found[at].sites[i] == self.sites[i]
            if same:
                return at
        return -1

    def reached_by(
        self, position: cython.Py_ssize_t, base: cython.ulonglong, function: cython.uint, like: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The candidate with the callers that a position gives after the same returns as of candidate ``like``; -1
        without one."""
        i: cython.int
        self.returned = self.found[like].returned
        for i in range(self.returned):
            self.sites[i] = self.found[like].sites[i]
        self.steps.restore()
        if self.positions.attempt(position, base, function) == CallLevel.IMPOSSIBLE:
            return -1
        return self._with_callers(self.steps.registers.values[RIP], self.steps.registers.values[RSP])

    def keep(self, candidate: cython.Py_ssize_t, share: cython.double) -> cython.int:
        """Keep that share of the paths to a candidate; none: it is impossible."""
        if share == 0:
            self.found[candidate].level = CallLevel.IMPOSSIBLE
        self.found[candidate].weight = cython.cast(cython.ulonglong, self.found[candidate].weight * share)
        return 0

    def drop_impossible(self) -> cython.int:
        """Forget the candidates that have become impossible."""
        at: cython.Py_ssize_t
        kept: cython.Py_ssize_t = 0
        for at in range(self.count):
            if self.found[at].level > CallLevel.IMPOSSIBLE:
                self.found[kept] = self.found[at]
                kept += 1
        self.count = kept
        return 0

    def _are_alike(self, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.bint:
        """Whether two candidates have the same functions, above the calls that were returned to also the same calls."""
        i: cython.int
        alike: cython.bint = (
            self.found[one].caller == self.found[other].caller
            and self.found[one].cfa == self.found[other].cfa
            and self.found[one].returned == self.found[other].returned
        )
        for i in range(self.found[one].returned):
            alike = alike and self.found[one].functions[i] == self.found[other].functions[i]
        return alike

    def only(self, is_recursive: cython.bint) -> cython.Py_ssize_t:
        """The candidate that is better proven than all that are not like it; -1 without one. Of those alike, that with
        the greatest weight. ``is_recursive``: the function calls itself, so that each of its callers' callers may be
        one."""
        at: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        level: cython.int = CallLevel.IMPOSSIBLE
        is_open: cython.bint = False
        others: cython.bint = False
        for at in range(self.count):
            if self.found[at].level > level:
                best, level, is_open = at, self.found[at].level, False
            elif self.found[at].level < level:
                continue
            elif not self._are_alike(at, best):
                is_open = True
            elif self.found[at].weight > self.found[best].weight:
                best = at
        if best < 0 or is_open:
            return -1
        for at in range(self.count):
            others = others or (self.found[at].level >= CallLevel.POSSIBLE and not self._are_alike(at, best))
        if is_recursive and others:
            return -1
        if self.found[best].returned and (level < CallLevel.PROVEN or others):
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
        found: cython.Py_ssize_t
        with cython.gil:
            found = self._likeliest(frame, counts)
        return found

    def _likeliest(self, frame: cython.uint, counts: CallCounts) -> cython.Py_ssize_t:
        at: cython.Py_ssize_t
        best: cython.Py_ssize_t = -1
        best_key: object = None
        highest: cython.ulonglong = 0
        for at in range(self.count):
            highest = max(highest, self.found[at].cfa)
        # By functions up to that stack pointer: which of their calls it was may stay open.
        sums: dict[object, float] = {}
        for at in range(self.count):
            self.scores[at] = 0
            callers = self._callers(at, highest)
            if callers is None:
                continue
            functions = [self.steps.function_of(one) for one in callers]
            key = *functions, self.steps.registers.values[RSP]
            self.scores[at] = self._score(at, frame, callers, counts)
            sums[key] = sums.get(key, 0) + self.scores[at]
            if best < 0 or (key == best_key and self.scores[at] > self.scores[best]) or sums[key] > sums[best_key]:
                best, best_key = at, key
        if best < 0:
            return -1
        most: cython.double = sums.pop(best_key)
        return best if max(sums.values(), default=0) * FAR_LIKELIER < most else -1

    def _callers(self, at: cython.Py_ssize_t, highest: cython.ulonglong) -> "list[int] | None":
        """The frames of a candidate's callers up to a stack pointer, as far as rules lead; None if one of their return
        addresses is false."""
        i: cython.int
        _i: cython.int
        pc: cython.ulonglong
        sp: cython.ulonglong
        found = []
        for i in range(self.found[at].returned):
            pc = self.found[at].sites[i]
            self.steps.rules.find(pc - 1, pc)
            found.append(self.steps.rules.found_frame)
        self.take(at)
        for _i in range(MAX_CALLERS):
            pc, sp = self.steps.registers.values[RIP], self.steps.registers.values[RSP]
            self.steps.rules.find(pc - 1, pc)
            found.append(self.steps.rules.found_frame)
            if sp >= highest or self.steps.rules.found_rule >= RULE_LIMIT:
                break
            if rule_at(self.steps.rules.words, self.steps.rules.found_rule).flags & kinds.FLAG_SIGNAL:
                break
            if self.steps.step(pc, False, self.steps.function_of(self.steps.rules.found_frame)) == CallLevel.IMPOSSIBLE:
                return None
            if self.steps.registers.values[RSP] <= sp:
                break
        return found

    def _score(self, at: cython.Py_ssize_t, frame: cython.uint, callers: Any, counts: CallCounts) -> cython.double:
        """How likely a candidate is, in relation to others. 0 where a function has returned, and one of the calls is
        neither proven nor in any other stack: the caller may be another one that calls by a pointer."""
        i: cython.int
        callee: cython.uint = frame
        caller: cython.uint
        found: cython.Py_ssize_t
        back: cython.ulonglong
        returned: cython.int = self.found[at].returned
        score: cython.double = self.found[at].weight << self.found[at].level
        for i in range(len(callers)):
            caller = callers[i]
            found = counts.count(caller, callee)
            if found == 0 and i <= returned and returned:
                back = self.found[at].sites[i] if i < returned else self.found[at].caller
                if self.steps.proof(back, self.steps.function_of(callee)) < CallLevel.PROVEN:
                    return 0
            # The share of this call among those of the function.
            score *= (found + UNSEEN) / (counts.total(callee) + 1)
            callee = caller
        return score

    def take(self, candidate: cython.Py_ssize_t) -> cython.int:
        """Set the registers to those of the caller that a candidate has."""
        self.steps.restore()
        self.positions.attempt(
            self.found[candidate].position, self.found[candidate].base, self.found[candidate].function
        )
        return 0
