# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Steps from frames whose code has no unwind rule: by the frame pointer, or to the function that entered the code."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RIP, RSP
from cython.cimports.undwarf.tables.rule import RulePointer, rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_NO, RULE_UNMAPPED, STACK_LIMIT, Evidence

from undwarf.column import zeros
from undwarf.unwind.caller_choice import CallerChoice
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

ENTRY_REACH = cython.declare(cython.ulonglong, 1024)
"""Bytes above the stack pointer that are searched for the entry of code compiled at run time: LuaJIT's traces have up
to that many of their own."""
STALE_ADDRESSES = cython.declare(cython.int, 4)
NEAR_CODE = cython.declare(cython.ulonglong, 1 << 16)
"""Return addresses, and within how many bytes of the code, that show a frame pointer to be one of an outer frame."""
FIRST_ADDRESS = cython.declare(cython.ulonglong, 4096)
"""Nothing is mapped below, where most small integers are."""


@cython.final
@cython.cclass
class RulelessStepper:
    """Replaces the registers of a frame without a rule by those of its caller."""

    entry_frames: Any
    entry_distances: Any

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        stepper: FrameStepper,
        choice: CallerChoice,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.stepper = stepper
        self.choice = choice
        self.chooses = rules.source.has_code_evidence and registers.link < 0
        self.use_frame_pointers = rules.source.frame_pointers
        self.by_frame_pointer = False
        self.provenance = 0
        self.set_entries([])

    def set_entries(self, entries: list[tuple[int, int]]) -> None:
        """Set the functions that enter code without rules by indirect calls: the frame of the call, and how many bytes
        above the stack pointer its return address always is."""
        self.entry_count = len(entries)
        self.entry_frames, self.entry_distances = zeros("I", len(entries)), zeros("Q", len(entries))
        for i, (frame, distance) in enumerate(entries):
            self.entry_frames[i], self.entry_distances[i] = frame, distance

    def step(self, depth: cython.Py_ssize_t) -> cython.int:
        """Go from frame ``depth``, whose address was looked up last, to its caller; 0 or a stop reason."""
        image: cython.uint = self.rules.found_image
        frame: cython.uint = self.rules.found_frame
        reason: cython.int
        switches: cython.bint
        slot: cython.ulonglong = 0
        self.provenance = 0
        if image != NOTHING and self.rules.at_entry(image, self.rules.stacks.frame_address[frame]):
            # The first instructions of a program or of the loader have no caller, and often no rule that states it.
            return StopReason.ROOT
        reason = self._find_by_frame_pointer(depth)
        if self.chooses and reason in (0, StopReason.NO_RULE):
            slot = self.choice.choose(frame, 0 if reason else self.return_address, depth == 0)
        if slot:
            self._take_chosen(slot)
            self.provenance = Provenance.RETURN_ADDRESS
            return 0
        if reason == 0:
            if self.chooses and self.choice.level == CallLevel.IMPOSSIBLE:
                self.provenance = Provenance.UNPROVEN
            self._take_frame_pointer()
            return 0
        if reason == StopReason.NO_RULE and image != NOTHING and self.registers.link < 0 and self.use_frame_pointers:
            reason = self.step_to_entry(image, RULE_NO)
            if reason == StopReason.NO_RULE and depth > 1:
                with cython.gil:
                    switches = self.rules.source.restores_stack(image, self.rules.stacks.frame_address[frame] + 1)
                if switches:
                    return StopReason.OTHER_STACK
        return reason

    def step_to_entry(self, image: cython.uint, rule: cython.uint) -> cython.int:
        """Go from code that was compiled at run time, without frame pointers, to the function with rules that entered
        it; 0 or a stop reason.

        Interpreters have a stack of their own for what they run, and one frame of the machine's stack for all of it. If
        a direct call enters, that is the frame of the called function, which jumps to the code: the function's first
        instruction has a frame already, and code may have added 16 bytes, or a multiple (LuaJIT). If an indirect call
        enters, :mod:`undwarf.unwind.jit_entries` has found how far above the stack pointer its return address always
        is.

        With a ``rule`` of the code (else RULE_NO), which is wrong there, only a call of a function that begins with
        this rule counts: the code has more on the stack than its rule states (LuaJIT, where a trace is left).
        """
        sp: cython.ulonglong = self.registers.values[RSP]
        at: cython.ulonglong = sp
        end: cython.ulonglong = min(self.memory.high, sp + ENTRY_REACH)
        frame: cython.uint
        target: cython.ulonglong
        target_rule: cython.uint
        words: RulePointer
        size: cython.ulonglong
        searched: cython.bint = rule < RULE_LIMIT
        i: cython.Py_ssize_t
        if not searched:
            with cython.gil:
                searched = self.rules.source.is_jit(image)
        if not searched or sp < self.memory.low or sp & 7:
            return StopReason.NO_RULE
        while True:
            at = self.next_entry(at, end)
            if at >= end:
                return StopReason.NO_RULE
            frame = self.rules.found_frame
            with cython.gil:
                target = self.rules.source.call_target(
                    self.rules.found_image, self.rules.stacks.frame_address[frame] + 1
                )
            if target == 0 and rule == RULE_NO:
                for i in range(self.entry_count):
                    if self.entry_frames[i] == frame and self.entry_distances[i] == at - sp:
                        self.registers.values[RIP] = self.memory.load(at)
                        self.registers.values[RSP] = at + 8
                        self.registers.known = 1 << RSP | 1 << RIP
                        self.provenance = Provenance.ENTRY
                        return 0
            elif target:
                target_rule = self.rules.rule(self.rules.found_image, target)
                if target_rule >= RULE_LIMIT or rule not in (RULE_NO, target_rule):
                    at += 8
                    continue
                words = rule_at(self.rules.words, target_rule)
                if words.cfa_kind == kinds.CFA_REGISTER and words.cfa_register == RSP:
                    size = cython.cast(cython.ulonglong, words.cfa_offset) - 8
                    if 0 < size <= at - sp and (rule == target_rule or (at - sp - size) & 15 == 0):
                        self.registers.values[RSP] = at - size
                        self.stepper.is_innermost = False
                        self.provenance = Provenance.ENTRY
                        return self.stepper.step(target_rule)
            at += 8

    def next_entry(self, at: cython.ulonglong, end: cython.ulonglong) -> cython.ulonglong:
        """The first place in the dump from ``at`` on with a return address that follows a call in a function with
        rules, which is then the address looked up last; ``end`` without one."""
        return_address: cython.ulonglong
        entry: cython.Py_ssize_t
        while at + 8 <= end:
            return_address = self.memory.load(at)
            if return_address >= FIRST_ADDRESS:
                entry = self.rules.mapping(return_address - 1)
                if entry >= 0 and self.rules.spaces.flags[entry]:
                    self.rules.find(return_address - 1, return_address)
                    if self.rules.found_rule < RULE_LIMIT and self.rules.call_evidence() == Evidence.YES:
                        return at
            at += 8
        return end

    def _find_by_frame_pointer(self, depth: cython.Py_ssize_t) -> cython.int:
        """Find the return address by the frame pointer, if all evidence that can be checked supports it; 0 or a stop
        reason. Sets ``return_address`` and ``saved``, the caller's frame pointer.

        The pointer must lie in known memory above the stack pointer, and the return address in executable code, after a
        call instruction; where that code cannot be read, the saved frame pointer must lie above this one.
        """
        frame_pointer: cython.ulonglong = self.registers.values[RBP]
        saved: cython.ulonglong
        return_address: cython.ulonglong
        call: cython.int
        if not self.use_frame_pointers or not self.registers.known >> RBP & 1:
            return StopReason.NO_RULE
        if frame_pointer == 0:
            # The System V ABI marks the outermost frame by a frame pointer of zero. It is one only where the callee
            # has saved it beside its return address: code without frame pointers keeps any value in the register.
            return StopReason.ROOT if depth > 1 and self.by_frame_pointer else StopReason.NO_RULE
        if frame_pointer & 7 or frame_pointer < self.registers.values[RSP]:
            return StopReason.NO_RULE
        if not self.memory.live.has_reader and (
            frame_pointer >= self.memory.high or self.memory.high - frame_pointer < 16
        ):
            # A chain of frame pointers that was right so far continues above the end of the dump.
            return (
                StopReason.TRUNCATED
                if self.by_frame_pointer and frame_pointer - self.memory.low < STACK_LIMIT
                else StopReason.NO_RULE
            )
        self.memory.fault = 0
        saved = self.memory.load(frame_pointer)
        return_address = self.memory.load(frame_pointer + 8) & self.registers.address_bits
        if self.memory.fault or return_address == 0:
            self.memory.fault = 0
            return StopReason.NO_RULE
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule == RULE_UNMAPPED:
            return StopReason.NO_RULE
        call = self.rules.call_evidence()
        if call == Evidence.NO and saved == 0 and self.by_frame_pointer:
            # The outermost frame, by its frame pointer, returns to an address that follows no call: a runtime stored it
            # there as the return address of the first function of one of its own processes (Erlang).
            return StopReason.FIBER_ROOT
        # Where code cannot be read, the chain of frame pointers is the only evidence, and must not have a gap.
        if call == Evidence.NO or (
            call == Evidence.POSSIBLE and ((saved and saved <= frame_pointer) or self._skips_frames(frame_pointer))
        ):
            return StopReason.NO_RULE
        self.return_address = return_address
        self.saved = saved
        return 0

    def _take_frame_pointer(self) -> cython.int:
        """Go to the caller that the frame pointer has found."""
        self.by_frame_pointer = True
        self.registers.values[RSP] = self.registers.values[RBP] + 16
        if not self._is_frame_of_callee():
            self.registers.values[RBP] = self.saved
        self.registers.values[RIP] = self.return_address
        # What the callee did with the other callee-saved registers is not known.
        self.registers.known = 1 << RSP | 1 << RBP | 1 << RIP
        if self.registers.link >= 0:
            # The frame record may lie anywhere in the frame.
            self.registers.known = 1 << RBP | 1 << RIP
        return 0

    def _is_frame_of_callee(self) -> cython.bint:
        """Whether the caller has made the frame of its callee, and its rule finds its own by that: what is saved there
        is its own frame pointer (SBCL's `call_into_lisp_`)."""
        rule: RulePointer
        self.rules.find(self.return_address - 1, self.return_address)
        if self.rules.found_rule >= RULE_LIMIT:
            return False
        rule = rule_at(self.rules.words, self.rules.found_rule)
        return rule.cfa_kind == kinds.CFA_DEREF and rule.cfa_register == RBP and rule.cfa_offset == 0

    def _take_chosen(self, slot: cython.ulonglong) -> cython.int:
        """Go to the caller whose return address is at a place of the stack; the frame pointer is still its own."""
        self.registers.values[RSP] = slot + 8
        self.registers.values[RIP] = self.choice.return_address
        self.registers.known = self.registers.known & (1 << RBP) | 1 << RSP | 1 << RIP
        return 0

    def _skips_frames(self, frame_pointer: cython.ulonglong) -> cython.bint:
        """Whether a frame pointer skips frames, as there are return addresses below it that have no saved frame pointer
        beside them. They are those into code near that of the frame, which was compiled at run time and whose bytes are
        not known. Compilers that keep some frame pointers only (Mono) have 6 to 24 of them in recursive code; of code
        that keeps all (Java, V8, Mono on request) at most 2 are left over from earlier calls.
        """
        at: cython.ulonglong = self.registers.values[RSP]
        pc: cython.ulonglong = self.registers.values[RIP]
        word: cython.ulonglong
        previous: cython.ulonglong = 0
        entry: cython.Py_ssize_t
        found: cython.int = 0
        if at < self.memory.low or at & 7 or self.memory.live.has_reader:
            return False
        while at < frame_pointer and found < STALE_ADDRESSES:
            word = self.memory.load(at)
            if word - pc + NEAR_CODE < 2 * NEAR_CODE and not at <= previous < self.memory.high:
                entry = self.rules.mapping(word)
                found += entry >= 0 and self.rules.spaces.flags[entry] != 0
            previous = word
            at += 8
        return found >= STALE_ADDRESSES
