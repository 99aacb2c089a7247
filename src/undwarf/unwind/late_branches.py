# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The branches that a thread took between a precise sample's instruction and the state that was recorded with it.

A branch stack (LBR) that was recorded with a precise sample shows them, the newest first: returns that the skid has
crossed name the callers, whose return addresses are no longer in the dump, and a call names where it returns to. Which
entries are newer than the instruction is found by the code: execution was at it between one branch's target and the
source of the next, with no other branch on the way. There may be several such entries, as in a loop; they must agree.

The branches may end before the state, so that what they do not show may have happened (Ice Lake and later take them
when the instruction retires, kernels before 6.15 the registers at the interrupt): only what they show is used.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import Flow
from cython.cimports.undwarf.perfdata.abi import BRANCH_BYTES, BRANCH_CALL_STACK, BRANCH_HW_INDEX
from cython.cimports.undwarf.unwind.walk_constants import RULE_UNMAPPED

from undwarf.spaces.int_map import IntMap
from undwarf.unwind.branch_stacks import BranchStacks
from undwarf.unwind.rule_cache import RuleCache

REACH = cython.declare(cython.longlong, 12)
"""Instructions that the state may be late (:data:`undwarf.unwind.exact_paths.REACH`)."""
MOST_SITES = cython.declare(cython.Py_ssize_t, 8)
"""Returns that are followed, and calls that are open at once."""
FARTHEST = cython.declare(cython.ulonglong, 1024)
"""Bytes without a branch that are looked at."""
NEVER = cython.declare(cython.uint, 0xFFFF)
"""The distance of addresses between which there is a branch, or no code."""


@cython.final
@cython.cclass
class LateBranches:
    """Reads the branches of one sample at a time."""

    sites: Any
    path_sites: Any
    path_calls: Any

    def __init__(self, rules: RuleCache, branches: BranchStacks) -> None:
        self.rules = rules
        self.branches = branches
        self.distances = IntMap()
        self.flows = IntMap()
        self.site_count = self.path_site_count = 0
        self.back = self.path_back = 0
        self.position = self.path_position = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def follow(
        self, sample: cython.Py_ssize_t, record: cython.Py_ssize_t, event: cython.uint, pc: cython.ulonglong
    ) -> cython.bint:
        """Whether branches after the instruction at ``pc`` are known that returned from its function or called another:
        sets ``sites``, ``site_count``, ``position`` and ``back``."""
        kind: cython.ulonglong
        newer: cython.Py_ssize_t
        distance: cython.longlong
        steps: cython.longlong = 0
        is_known: cython.bint = False
        self.site_count = 0
        self.position = 0
        self.back = 0
        self.total = 0
        if not self.branches.kinds.shape[0] or not self.branches.offsets[sample]:
            return False
        kind = self.branches.kinds[event]
        if kind & BRANCH_CALL_STACK:
            return False
        self.first = record + self.branches.offsets[sample]
        self.total = self.branches.branch_count(self.first, kind)
        self.first += 16 if kind & BRANCH_HW_INDEX else 8
        # Execution was at pc before ``newer`` of the branches.
        for newer in range(self.total + 1):
            if newer > 0:
                distance = self._distance(pc, self._word(newer - 1, 0)) + 1
            else:
                # A call, return or jump would itself be the newest branch.
                distance = 1 if self._falls_through(pc) else -1
            if (
                distance > 0
                and distance + steps <= REACH
                and (newer == self.total or self._distance(self._word(newer, 1), pc) >= 0)
            ):
                if not self._replay(newer) or not self._keep(not is_known):
                    return False
                is_known = True
            if newer == self.total:
                break
            if newer > 0:
                distance = self._distance(self._word(newer, 1), self._word(newer - 1, 0))
                if distance < 0:
                    break
                steps += distance + 1
                if steps >= REACH:
                    break
        return self.site_count > 0 or self.back != 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def _word(self, entry: cython.Py_ssize_t, word: cython.int) -> cython.ulonglong:
        """The source (0) or the target (1) of a branch."""
        return self.branches.memory.record_word(self.first + BRANCH_BYTES * entry + 8 * word)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def _keep(self, is_first: cython.bint) -> cython.bint:
        """Take what a path shows; False if a shorter one ended elsewhere. Which of several calls in a caller it was may
        differ: that of the shortest path is taken."""
        i: cython.Py_ssize_t
        if is_first:
            for i in range(self.path_site_count):
                self.sites[i] = self.path_sites[i]
            self.site_count = self.path_site_count
            self.position = self.path_position
            self.back = self.path_back
            return True
        return (
            self.site_count == self.path_site_count
            and self.back == self.path_back
            and (self.position == self.path_position or self.site_count == 0)
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def _replay(self, count: cython.Py_ssize_t) -> cython.bint:
        """Replay the newest ``count`` branches, from the oldest on; False where calls and returns do not match."""
        i: cython.Py_ssize_t = count
        flow: cython.longlong
        source: cython.ulonglong
        target: cython.ulonglong
        depth: cython.Py_ssize_t = 0
        self.path_site_count = 0
        self.path_position = 0
        self.path_back = 0
        while i > 0:
            i -= 1
            source = self._word(i, 0)
            target = self._word(i, 1)
            flow = self._flow(source)
            if flow < 0:
                return False
            if flow & 15 == Flow.CALL or flow & 15 == Flow.INDIRECT_CALL:
                if depth == MOST_SITES:
                    return False
                self.path_calls[depth] = source + cython.cast(cython.ulonglong, flow >> 4)
                depth += 1
            elif flow & 15 == Flow.RETURN and depth > 0:
                depth -= 1
                if self.path_calls[depth] != target:
                    return False
                if depth == 0:
                    self.path_position = target
            elif flow & 15 == Flow.RETURN:
                if self.path_site_count == MOST_SITES or not self.rules.follows_call(target):
                    return False
                self.path_sites[self.path_site_count] = target
                self.path_position = target
                self.path_site_count += 1
        if depth > 0:
            self.path_back = self.path_calls[0]
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _distance(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.longlong:
        """Instructions from an address to one behind it in the same code, or to itself; a negative number where a jump,
        a call or a return is between them."""
        known: cython.longlong
        key: cython.ulonglong
        from_frame: cython.uint
        if start == end:
            return 0
        if end < start or end - start > FARTHEST:
            return -1000
        self.rules.find(start, start)
        if self.rules.found_rule == RULE_UNMAPPED:
            return -1000
        from_frame = self.rules.found_frame
        self.rules.find(end, end)
        key = cython.cast(cython.ulonglong, from_frame) << 32 | self.rules.found_frame
        known = self.distances.get(key)
        if known < 0:
            with cython.gil:
                known = self._ask_distance(from_frame, self.rules.found_frame)
            self.distances.put(key, cython.cast(cython.uint, known))
        return -1000 if known == NEVER else known

    @cython.cfunc
    @cython.exceptval(-2)
    def _ask_distance(self, start: cython.uint, end: cython.uint) -> cython.longlong:
        stacks = self.rules.stacks
        if stacks.frame_image[start] != stacks.frame_image[end]:
            return NEVER
        found: int | None = self.rules.source.code_evidence.distance(
            stacks.frame_image[start], stacks.frame_address[start], stacks.frame_address[end]
        )
        return NEVER if found is None else found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def _falls_through(self, address: cython.ulonglong) -> cython.bint:
        """Whether the next instruction may come after the one at an address."""
        flow: cython.longlong = self._flow(address)
        return flow >= 0 and (flow & 15 == Flow.NEXT or flow & 15 == Flow.BRANCH)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _flow(self, address: cython.ulonglong) -> cython.longlong:
        """The flow (4 bits) and length of an instruction; negative where there is none."""
        known: cython.longlong
        frame: cython.uint
        self.rules.find(address, address)
        if self.rules.found_rule == RULE_UNMAPPED:
            return -1
        frame = self.rules.found_frame
        known = self.flows.get(frame)
        if known < 0:
            with cython.gil:
                known = self._ask_flow(frame)
            self.flows.put(frame, cython.cast(cython.uint, known))
        return -1 if known == NEVER else known

    @cython.cfunc
    @cython.exceptval(-2)
    def _ask_flow(self, frame: cython.uint) -> cython.longlong:
        stacks = self.rules.stacks
        address: cython.ulonglong = stacks.frame_address[frame]
        found: tuple[int, int, int] | None = self.rules.source.code_evidence.flow(stacks.frame_image[frame], address)
        return NEVER if found is None else found[0] | found[2] - address << 4
