# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Registers of precise samples, which are later than the sampled instruction, brought to the state of its caller.

A precise sample has the address of the exact instruction, but registers and stack of some instructions later (see
docs/explanation/precise.md). How much later is not recorded: a state must prove itself. Each position that control
flow reaches from the instruction (:mod:`undwarf.unwind.exact_paths`) is one that the registers may be of. It is kept
if its callers prove themselves by the code before their return addresses. Where the function has returned already,
its return address is below the dump: its caller is searched for (:mod:`undwarf.unwind.caller_search`).
"""

import cython
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RIP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import NEAR_SLOTS, REACH, CallLevel, Position
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.caller_search import CallerSearch
from undwarf.unwind.late_branches import LateBranches
from undwarf.unwind.path_evidence import PathEvidence
from undwarf.unwind.position_table import PositionTable
from undwarf.unwind.register_file import FrameStates, RegisterFile
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.state_candidates import StateCandidates

LONGEST_INSTRUCTION = cython.declare(cython.int, 15)
SYSTEM_CALL = cython.declare(cython.ulonglong, 2)
"""Bytes of a system call, the last instruction of a signal's return trampoline."""


@cython.final
@cython.cclass
class ExactState:
    """Corrects the registers of one sample at a time, and counts what was done."""

    counts: CallCounts | None

    def __init__(
        self,
        rules: RuleCache,
        registers: RegisterFile,
        states: FrameStates,
        steps: CallSteps,
        chain: memoryview,
        late_branches: LateBranches,
    ) -> None:
        self.rules = rules
        self.registers = registers
        self.states = states
        self.chain = chain
        self.steps = steps
        self.positions = PositionTable(self.steps)
        self.candidates = StateCandidates(self.steps, self.positions)
        self.callers = CallerSearch(self.steps, self.positions, self.candidates)
        self.evidence = PathEvidence(self.steps, self.positions, self.candidates)
        self.late_branches = late_branches
        self.steady = IntMap()
        self.reach = REACH
        self.searches = True
        self.decides_again = False
        self.one_late = self.later = 0
        self.counts = None
        self.samples = self.fitting = self.corrected = self.returned = self.unproven = self.followed = 0

    def look_within(self, reach: int) -> None:
        """Take the registers for those of at most so many instructions after the sampled one; before the first
        sample."""
        self.reach = self.positions.reach = reach

    def measure(self) -> None:
        """Count how late registers are (``one_late``, ``later``), without a search for callers past a return: most
        states need none, and it is what takes the time."""
        self.searches = False

    def decide_with(self, counts: CallCounts) -> None:
        """Decide between states that are proven alike by how often their calls are in stacks; the other counts begin
        again."""
        self.counts = counts
        self.callers.tables.use_counts(counts)
        self.samples = self.fitting = self.corrected = self.returned = self.unproven = self.followed = 0

    def take_over(self, other: ExactState) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Continue with the counts of another one."""
        self.samples, self.fitting, self.corrected = other.samples, other.fitting, other.corrected
        self.returned, self.unproven, self.followed = other.returned, other.unproven, other.followed

    def correct(self, count: cython.Py_ssize_t, has_branches: cython.bint) -> cython.Py_ssize_t:
        """Correct the registers of the sample at hand, whose frames come after ``count`` frames of the chain.
        ``has_branches``: ``late_branches`` has found branches after the sampled instruction.

        Returns how many frames were added to the chain: 0 where the registers fit as they are, and are unchanged; else
        they are those of the caller of the last frame added. Where nothing proves a caller, ``is_unproven`` is set, and
        the first frame is in the chain. ``is_provisional``: the stack is evidence for others, and may be another one
        once these are known.
        """
        pc: cython.ulonglong = self.registers.values[RIP]
        frame: cython.uint
        best: cython.Py_ssize_t
        self.is_unproven = self.is_provisional = False
        self.samples += 1
        self.rules.find(pc, pc)
        if self.rules.found_rule >= RULE_LIMIT:
            return 0
        frame = self.rules.found_frame
        self.steps.save()
        if has_branches:
            return self._correct_after_branches(count, pc, frame)
        if self._fits(pc, frame):
            self.fitting += 1
            return 0
        if self._leave_handler(pc, frame):
            self.chain[count] = frame
            self.states.count = 0
            self.states.keep(0, True)
            self.corrected += 1
            return 1
        self._find_candidates(pc, frame, 1)
        self._count_lateness()
        best = self._decide(pc, frame)
        self.chain[count] = frame
        self.states.count = 0
        self.states.keep(0, True)
        if best < 0:
            self.steps.restore()
            self.is_unproven = True
            self.unproven += 1
            return 1
        return self._take(best, count, 1)

    def _decide(self, pc: cython.ulonglong, frame: cython.uint) -> cython.Py_ssize_t:
        """The candidate that is true, -1 where that is open; ``frame``: the one whose positions they are."""
        is_recursive: cython.bint = self.reach > 1 and self.callers.is_recursive(self.steps.function_of(frame))
        best: cython.Py_ssize_t = self.candidates.only(is_recursive)
        # Callers that call by a pointer are known once all stacks are.
        self.is_provisional = (
            best >= 0
            and self.decides_again
            and self.counts is None
            and self.may_have_returned
            and self.candidates.found[best].level < CallLevel.PROVEN
        )
        if best < 0 and self.candidates.count > 1 and self.reach > 1:
            self.evidence.weigh(pc, frame, self.reach)
            best = self.candidates.only(is_recursive)
        if best < 0 and self.counts is not None:
            best = self.candidates.likeliest(frame, self.counts)
        return best

    def _take(
        self, candidate: cython.Py_ssize_t, count: cython.Py_ssize_t, depth: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Set the registers to those of a candidate's caller, and add the callers to which functions have returned,
        after ``depth`` frames of the sample. How many frames it has then."""
        i: cython.int
        returned: cython.int = self.candidates.found[candidate].returned
        self.candidates.take(candidate)
        self.unproven += self.is_provisional
        self.corrected += not self.is_provisional
        for i in range(returned):
            self.rules.find(self.candidates.found[candidate].sites[i] - 1, self.candidates.found[candidate].sites[i])
            self.chain[count + depth + i] = self.rules.stacks.with_provenance(
                self.rules.found_frame, Provenance.INFERRED_CALLER
            )
            self.states.keep(depth + i, False)
        self.returned += returned > 0
        return depth + returned

    def _correct_after_branches(
        self, count: cython.Py_ssize_t, pc: cython.ulonglong, frame: cython.uint
    ) -> cython.Py_ssize_t:
        """As :meth:`correct`, with the branches that were taken since: the search begins where the last return went to,
        and prefers the callee that the open call entered."""
        best: cython.Py_ssize_t = -1
        i: cython.Py_ssize_t
        added: cython.Py_ssize_t = 1 + self.late_branches.site_count
        site: cython.ulonglong
        if added == 1 and not self.late_branches.back and self._fits(pc, frame):
            self.fitting += 1
            return 0
        self.chain[count] = frame
        self.states.count = 0
        self.states.keep(0, True)
        for i in range(1, added):
            site = self.late_branches.sites[i - 1]
            self.rules.find(site - 1, site)
            self.chain[count + i] = self.rules.stacks.with_provenance(self.rules.found_frame, Provenance.BRANCH_STACK)
        if added > 1:
            pc = self.late_branches.position
            self.rules.find(pc, pc)
            frame = self.rules.found_frame
            self.registers.values[RIP] = pc
            self.steps.save()
        if self.rules.found_rule < RULE_LIMIT:
            # After a return the state may be that of its target.
            self._find_candidates(pc, frame, 1 if added == 1 else 0)
            if self.late_branches.back:
                best = self.candidates.entered_from(self.late_branches.back)
            if best < 0:
                best = self._decide(pc, frame)
        self.steps.restore()
        for i in range(1, added):
            self.states.keep(i, False)
        if best < 0:
            self.is_unproven = True
            self.unproven += 1
            return added
        self.followed += added > 1 and not self.is_provisional
        return self._take(best, count, added)

    def _fits(self, pc: cython.ulonglong, frame: cython.uint) -> cython.bint:
        """Whether the registers are those of the sample's own rule: nothing else is possible, or a direct call of the
        function proves it, and the next instruction has the same rule. The registers are unchanged."""
        level: cython.int
        caller: cython.ulonglong
        first: cython.Py_ssize_t
        function: cython.uint
        if rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL:
            return self._fits_trampoline(pc)
        function = self.steps.function_of(frame)
        # The callers of a function that calls itself prove nothing: each call of it has such a one.
        if self._is_steady(frame) and not (self.reach > 1 and self.callers.is_recursive(function)):
            level = self.steps.step(pc, True, function)
            caller = self.registers.values[RIP]
            self.steps.restore()
            # A return address right after the sampled instruction may be that of its own call.
            if level == CallLevel.PROVEN and caller - pc > LONGEST_INSTRUCTION:
                return True
        first = self.positions.of_sample(frame)
        count: cython.uint = self.positions.counts[first]
        return count == 1

    def _fits_trampoline(self, pc: cython.ulonglong) -> cython.bint:
        """Whether the registers are those in a signal's return trampoline, where the rule gives what was interrupted;
        after its system call they are those of what was."""
        self.rules.find(pc + SYSTEM_CALL, pc + SYSTEM_CALL)
        return (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL != 0
        )

    def _leave_handler(self, pc: cython.ulonglong, frame: cython.uint) -> cython.bint:
        """Where a signal came right after the sampled instruction, so that the registers are those of its handler, take
        those of what it interrupted, and go to the caller."""
        _i: cython.int
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t
        slot: cython.ulonglong = self.steps.saved[RSP]
        word: cython.ulonglong
        rule: cython.uint
        for _i in range(NEAR_SLOTS):
            self.steps.memory.fault = 0
            word = self.steps.memory.load(slot)
            slot += 8
            if self.steps.memory.fault or not self.steps.is_code(word):
                continue
            self.rules.find(word, word)
            rule = self.rules.found_rule
            if rule >= RULE_LIMIT or not rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL:
                continue
            self.registers.values[RSP] = slot
            self.registers.values[RIP] = word
            self.steps.stepper.is_innermost = False
            if self.steps.stepper.step(rule):
                break
            word = self.registers.values[RIP]
            first = self.positions.of_sample(frame)
            for at in range(first, first + self.positions.counts[first]):
                if (
                    self.positions.kinds[at] == Position.IN_FRAME
                    and pc + cython.cast(cython.ulonglong, self.positions.addresses[at]) == word
                ):
                    return self.steps.step(word, True, self.steps.function_of(frame)) >= CallLevel.POSSIBLE
            break
        self.steps.restore()
        return False

    def _find_candidates(self, pc: cython.ulonglong, frame: cython.uint, skipped: cython.Py_ssize_t) -> cython.int:
        """Collect the states that the registers may be of, without the first ``skipped`` positions: the registers of a
        sample are those after its instruction, so that its own position is none."""
        first: cython.Py_ssize_t = self.positions.of_sample(frame)
        at: cython.Py_ssize_t
        level: cython.int
        is_proven: cython.bint = False
        function: cython.uint = self.steps.function_of(frame)
        self.candidates.clear()
        self.may_have_returned = False
        for at in range(first + skipped, first + self.positions.counts[first]):
            if self.positions.distances[at] > self.reach:
                continue
            if self.positions.kinds[at] == Position.PAST_RETURN:
                self.may_have_returned = True
            else:
                level = self.candidates.add(
                    at, pc, function, 0, CallLevel.PROVEN, self.positions.weights[at], self.positions.distances[at]
                )
                is_proven = is_proven or level == CallLevel.PROVEN
        if not self.searches or (is_proven and not (self.may_have_returned and self.callers.is_recursive(function))):
            return 0
        self.steps.restore()
        self.callers.scan_stack()
        for at in range(first + skipped, first + self.positions.counts[first]):
            if self.positions.distances[at] <= self.reach and self.positions.kinds[at] == Position.PAST_RETURN:
                self.callers.search(
                    function, self.positions.distances[at], self.reach, CallLevel.PROVEN, self.positions.weights[at]
                )
        if self.callers.left <= 0:
            self.candidates.clear()
        return 0

    def _count_lateness(self) -> cython.int:
        """Count whether the best proven candidates include one of the next instruction."""
        at: cython.Py_ssize_t
        level: cython.int = CallLevel.UNKNOWN
        distance: cython.int = 0
        for at in range(self.candidates.count):
            if self.candidates.found[at].level > level:
                level, distance = self.candidates.found[at].level, self.candidates.found[at].distance
            elif self.candidates.found[at].level == level:
                distance = min(distance, self.candidates.found[at].distance)
        if distance:
            self.one_late += distance == 1
            self.later += distance > 1
        return 0

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
