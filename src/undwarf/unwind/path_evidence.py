# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Weighs the states that the registers of one precise sample may be of, by whether their values agree with the
instructions on the path to each state (:mod:`undwarf.unwind.path_values`)."""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.exact_positions import GENERAL_REGISTERS, Position

from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.position_table import PositionTable
from undwarf.unwind.state_candidates import StateCandidates

LIKELIER = 8
"""How many times likelier a state is for each fact that its registers fulfil, for at most MOST_FACTS of them. On the
programs of docs/explanation/precise.md with a skid of 1 to 12 instructions, by factor and facts: 1 and any: 96.7 %
equal and 0.58 % false; 4 and 3: 97.0 and 0.55; 16 and 3: 97.3 and 0.63."""
MOST_FACTS = 2
MAX_RETURNS = 8
"""Series of calls returned to that are followed for one sample; the states after others keep their weight. Without a
limit 0.03 % more of all stacks are equal, at up to twice the time."""
MAX_ENDS = 32768
"""Addresses whose paths' ends are kept."""


@cython.final
@cython.cclass
class PathEvidence:
    """Weighs the candidates of one sample at a time."""

    def __init__(self, steps: CallSteps, positions: PositionTable, candidates: StateCandidates) -> None:
        self.steps = steps
        self.positions = positions
        self.candidates = candidates
        self.ends: dict[object, list[Any]] = {}

    def weigh(self, pc: cython.ulonglong, frame: cython.uint, reach: cython.int) -> cython.int:
        """Keep the share of the paths to each candidate that agree with the registers, and drop candidates without any.
        ``pc``, ``frame``: of the sampled instruction."""
        with cython.gil:
            self._weigh(pc, frame, reach)
        return self.candidates.drop_impossible()

    def _weigh(self, pc: cython.ulonglong, frame: cython.uint, reach: cython.int) -> cython.int:
        at: cython.Py_ssize_t
        i: cython.int
        like: cython.Py_ssize_t
        reached: cython.Py_ssize_t
        base: cython.ulonglong
        function: cython.uint
        count: cython.Py_ssize_t = self.candidates.count
        registers = [self.steps.saved[i] for i in range(GENERAL_REGISTERS)]
        flags = self.steps.registers.flags
        wholes, shares = [0] * count, [0] * count
        seen: set[object] = set()
        stacks = self.steps.rules.stacks
        for like in range(count):
            base, function = pc, self.steps.function_of(frame)
            biases = {stacks.frame_image[frame]: self.steps.bias(stacks.frame_image[frame])}
            calls = []
            for i in range(self.candidates.found[like].returned):
                base = self.candidates.found[like].sites[i]
                self.steps.rules.find(base - 1, base)
                image = stacks.frame_image[self.steps.rules.found_frame]
                calls.append((image, stacks.frame_address[self.steps.rules.found_frame] + 1))
                biases[image] = self.steps.bias(image)
                function = self.steps.function_of(self.steps.rules.found_frame)
            sites = tuple(calls)
            if sites in seen or len(seen) == MAX_RETURNS:
                continue
            seen.add(sites)
            for number, weight, facts in self._ends(frame, sites, reach):
                at = number
                reached = self.candidates.reached_by(at, base, function, like)
                if reached >= 0:
                    wholes[reached] += weight
                    agreeing = 0 if facts is None else facts.agreeing(registers, flags, self.steps.memory.value, biases)
                    if agreeing >= 0:
                        shares[reached] += weight * LIKELIER ** min(agreeing, MOST_FACTS)
        self.steps.restore()
        for like in range(count):
            if wholes[like]:
                self.candidates.keep(like, shares[like] / wholes[like])
        return 0

    def _ends(self, frame: cython.uint, sites: "tuple[Any, ...]", reach: cython.int) -> list[Any]:
        """(position, weight, facts) of the places where paths from a frame may have ended after they returned to some
        call sites."""
        key = frame, sites
        known = self.ends.get(key)
        if known is not None:
            return known
        stacks = self.steps.rules.stacks
        image, address = stacks.frame_image[frame], stacks.frame_address[frame]
        found = self.steps.rules.source.code_evidence.path_ends(image, address, sites, reach)
        if sites:
            image, address = sites[len(sites) - 1]
        rows = self._rows(self.positions.of_address(image, address), address)
        made = []
        for one in found:
            where = 0 if one.position == Position.IN_UNKNOWN_CALLEE else one.address
            number = rows.get((int(one.position), where, one.return_address, one.levels))
            if number is not None:
                made.append((number, one.weight, one.facts))
        if len(self.ends) == MAX_ENDS:
            self.ends.clear()
        self.ends[key] = made
        return made

    def _rows(self, first: cython.Py_ssize_t, address: cython.ulonglong) -> dict[Any, int]:
        """The positions from ``first`` on, which are reached from an address, by their kind, address, return address
        and levels."""
        at: cython.Py_ssize_t
        found = {}
        for at in range(first, first + self.positions.counts[first]):
            kind = self.positions.kinds[at]
            where = 0 if kind == Position.IN_UNKNOWN_CALLEE else self.positions.addresses[at] + address
            back = 0 if kind == Position.IN_FRAME else self.positions.return_addresses[at] + address
            found[kind, where, back, self.positions.levels[at]] = at
        return found
