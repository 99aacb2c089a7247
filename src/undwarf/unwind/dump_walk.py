# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The user frames of a sample, from its registers and its stack dump outwards."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RAX, RBP, RBX, RCX, RDX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_CALLEE_SAVED as CALLEE_SAVED
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import RulePointer, rule_at
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.register_file import FrameStatePointer, state_at
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import (
    IN_PAGE,
    RULE_LIMIT,
    RULE_NO,
    RULE_NO_FILE,
    RULE_UNMAPPED,
    Evidence,
    ImageState,
)

from undwarf.unwind.arch import X86_64
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.caller_choice import CallerChoice
from undwarf.unwind.dwarf_expression import ExpressionEvaluator
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.probed_returns import ProbedReturns
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import FrameStates, RegisterFile
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.ruleless_step import RulelessStepper
from undwarf.unwind.stack_memo import StackMemo
from undwarf.unwind.system_calls import SystemCalls

FALSE_FRAMES = cython.declare(cython.Py_ssize_t, 4)
"""How many of a stack's last frames may be false ones, above a fiber's root."""
DOWNWARD_STEPS = cython.declare(cython.int, 64)
"""Steps to lower addresses after which a walk is in a loop: only signal stacks and coroutines need any."""
UPROBES_PAGE = cython.declare(cython.ulonglong, (1 << 47) - 8192)
"""Where the kernel maps its page for probes, unless something else is there: the highest page of a process."""
UPROBES_PAGE_5 = cython.declare(cython.ulonglong, (1 << 56) - 8192)
"""The same with page tables of five levels."""
HANDLER_FRAMES = cython.declare(cython.Py_ssize_t, 3)
"""How many of the innermost frames may be of the function that installs an exception's handler."""


@cython.final
@cython.cclass
class DumpWalk:
    """Walks one dump at a time; its frames are added to the chain, from the innermost one on."""

    stop: cython.int

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        states: FrameStates,
        chain: memoryview,
        limits: Any,
        innermost_only: bool,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.states = states
        evaluator = ExpressionEvaluator(rules, memory, registers, limits.expression_steps)
        self.stepper = FrameStepper(rules, memory, registers, evaluator)
        self.steps = CallSteps(rules, memory, registers, self.stepper)
        self.probed_returns = ProbedReturns(rules, memory, registers, self.stepper, self.steps)
        self.searches_callers = rules.source.has_call_sites and rules.source.machine is X86_64
        self.ruleless = RulelessStepper(rules, memory, registers, self.stepper, CallerChoice(self.steps))
        self.system_calls = SystemCalls(rules, memory, registers)
        self.memo = StackMemo(rules, memory, registers, states, chain, limits.max_frames)
        self.chain = chain
        self.max_frames = limits.max_frames
        self.innermost_only = innermost_only
        self.stop = StopReason.NONE
        self.stop_image = NOTHING
        self.ended_at_zero = False

    def walk(
        self,
        count: cython.Py_ssize_t,
        depth: cython.Py_ssize_t,
        reads_code: cython.bint,
        innermost_is_deeper: cython.bint,
    ) -> cython.Py_ssize_t:
        """Walk the dump from frame number ``depth``, which has the registers, and add its frames to the chain of
        ``count`` frames; returns the chain's length. Sets ``stop`` and ``stop_image``.

        With ``reads_code`` instructions come before rules: a return instruction returns, whatever its rule; and an
        address that follows no call is no return address but where execution continues, as where an exception lands.
        With ``innermost_is_deeper`` the innermost frame has more on the stack than its rule states
        (:meth:`RulelessStepper.step_to_entry`).
        """
        exact: cython.bint = depth == 0
        called_unmapped: cython.bint = False
        at_system_call: cython.bint = False
        values: cython.p_ulonglong = self.registers.values
        rax: cython.ulonglong = values[RAX]
        rcx: cython.ulonglong = values[RCX]
        pc: cython.ulonglong
        reason: cython.int = 0
        rule: cython.uint
        image: cython.uint = NOTHING
        sp: cython.ulonglong
        frame_pointer: cython.ulonglong
        c_stack_rule: cython.uint
        downward_steps: cython.int = 0
        has_returned: cython.bint = False
        inferred: cython.bint
        has_gap: cython.bint = False
        gap_image: cython.uint = NOTHING
        self.memory.read_end = 0
        self.probed_returns.begin_stack()
        self.memory.unshareable = reads_code or depth > 0
        self.ended_at_zero = False
        self.system_calls.left_signal_stack = False
        self.ruleless.by_frame_pointer = False
        self.stepper.missing_scheduler = 0
        self.states.count = depth
        self.memo.begin_stack()
        while True:
            pc = values[RIP]
            if self.memo.candidate >= 0 and self.memo.shares(depth, exact):
                reason = self.memo.last_stop
                break
            if exact:
                self.rules.find(pc, pc)
                called_unmapped = self.rules.found_rule == RULE_UNMAPPED and self._is_called_unmapped()
            if pc == 0 and depth and not called_unmapped:
                self.ended_at_zero = True
                reason = self._reason_at_zero(image, self.chain[count - 1])
                break
            inferred = False
            if pc & IN_PAGE == 0 and not called_unmapped and self._is_probe_trampoline(pc):
                # What is found depends on more than the frame's registers.
                self.memory.unshareable = True
                if depth and not exact and depth < self.max_frames:
                    inferred = self._find_probed_caller(self.chain[count - 1])
                    if not inferred:
                        if gap_image == NOTHING:
                            gap_image = image
                        has_gap = True
                        if not self.searches_callers or not self.probed_returns.skip(pc):
                            reason = StopReason.PROBED_RETURN
                            break
                        if not self._is_in_probe_page(self.chain[count - 1]):
                            self.rules.find(pc, pc)
                            self.states.keep(depth, True)
                            self.chain[count] = self.rules.found_frame
                            count += 1
                            depth += 1
                    pc = values[RIP]
            self.rules.find(pc if exact else pc - 1, pc)
            at_system_call = depth == 0 and self.system_calls.take_rule(pc)
            rule = self.rules.found_rule
            if rule == RULE_UNMAPPED and depth and not called_unmapped:
                if image != NOTHING and self.rules.in_entry_function(
                    image, self.rules.stacks.frame_address[self.chain[count - 1]]
                ):
                    # What is on the stack of the entry function is no return address.
                    reason = StopReason.ROOT
                    break
                if self.rules.runtime:
                    # Where addresses are shown, the unmapped one is as well.
                    self.chain[count] = self.rules.found_frame
                    count += 1
                reason = StopReason.UNMAPPED
                break
            image = self.rules.found_image
            if depth >= self.max_frames:
                reason = StopReason.DEPTH
                break
            self.states.keep(depth, exact)
            self.chain[count] = self.rules.found_frame
            if inferred:
                self.chain[count] = self.rules.stacks.with_provenance(
                    self.rules.found_frame, Provenance.INFERRED_CALLER
                )
            count += 1
            depth += 1
            if self.innermost_only:
                reason = StopReason.DEPTH
                break
            sp = values[RSP]
            frame_pointer = values[RBP]
            if called_unmapped:
                values[RIP] = self.return_address
                if self.registers.link < 0:
                    values[RSP] = sp + 8
                exact = False
                called_unmapped = False
            elif (
                depth == 1
                and (reads_code or (rule == RULE_NO and self.registers.link < 0))
                and (self.rules.is_return(self.rules.found_frame) or (reads_code and self._is_called_within(pc)))
            ):
                # At a return instruction the function's frame is gone, whatever it was. System calls wait like this in
                # functions without rules (musl's), and subroutines in functions whose rules ignore them (LuaJIT's).
                self.memory.fault = 0
                values[RIP] = self.memory.load(sp)
                if self.memory.fault:
                    reason = self.memory.fault
                    break
                values[RSP] = sp + 8
                exact = False
                has_returned = True
            elif (
                not exact
                and (
                    rule == RULE_NO or (rule < RULE_LIMIT and rule_at(self.rules.words, rule).source == Provenance.CODE)
                )
                and self._begins_fiber(self.chain[count - 2] if depth > 1 else NOTHING)
            ):
                # No call returns here: the frame is that of the address itself, not of the byte before.
                self.rules.find(pc, pc)
                self.chain[count - 1] = self.rules.found_frame
                reason = StopReason.FIBER_ROOT
                break
            elif rule < RULE_LIMIT:
                self.stepper.is_innermost = exact
                self.ruleless.by_frame_pointer = False
                reason = (
                    self.ruleless.step_to_entry(image, rule)
                    if innermost_is_deeper and depth == 1
                    else self.stepper.step(rule)
                )
                if reason == StopReason.UNREADABLE_MEMORY and self.stepper.preserves_c_stack(
                    rule_at(self.rules.words, rule)
                ):
                    # Haskell's own stack is in the heap, which no dump has.
                    with cython.gil:
                        c_stack_rule = self.rules.source.haskell_rule(image)
                    if c_stack_rule < RULE_LIMIT and self.stepper.restore_c_stack(rule_at(self.rules.words, rule)):
                        rule = c_stack_rule
                        reason = self.stepper.step(rule)
                if at_system_call:
                    reason = self.system_calls.stop_reason(self.chain[count - 1], pc - rcx, rax, reason)
                if reason:
                    if self.rules.in_entry_function(image, self.rules.stacks.frame_address[self.chain[count - 1]]):
                        reason = StopReason.ROOT
                    break
                if rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL:
                    self.system_calls.note_signal_frame(sp)
                values[RIP] &= self.registers.address_bits
                # The address that Haskell code returns to does not belong to the function before it.
                exact = (rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL) != 0 or (
                    self.memory.unshareable and self.stepper.preserves_c_stack(rule_at(self.rules.words, rule))
                )
                if rule_at(self.rules.words, rule).flags & kinds.FLAG_UNPROVEN and not self.rules.follows_call(
                    values[RIP]
                ):
                    reason = StopReason.NO_RULE
                    break
            elif depth == 1 and image != NOTHING and self.rules.image_state[image] == ImageState.UPROBES:
                reason = self._leave_probe_page(pc)
                if reason:
                    break
                exact = False
            else:
                # Right after a return instruction a frame pointer of zero is no evidence yet.
                reason = self.ruleless.step(0 if exact else depth - has_returned)
                if at_system_call:
                    reason = self.system_calls.stop_reason(self.chain[count - 1], pc - rcx, rax, reason)
                if reason:
                    if rule != RULE_NO and reason == StopReason.NO_RULE:
                        reason = StopReason.NO_FILE if rule == RULE_NO_FILE else StopReason.UNMAPPED
                    break
                if self.ruleless.provenance:
                    self.chain[count - 1] = self.rules.stacks.with_provenance(
                        self.chain[count - 1], cython.cast(cython.uint, self.ruleless.provenance)
                    )
                exact = False
            if reads_code and not exact:
                self.rules.find(values[RIP] - 1, values[RIP])
                exact = self.rules.found_rule != RULE_UNMAPPED and self.rules.call_evidence() == Evidence.NO
            if values[RSP] < sp or (values[RSP] == sp and values[RBP] <= frame_pointer):
                downward_steps += 1
                if downward_steps > DOWNWARD_STEPS:
                    reason = StopReason.LOOP
                    break
        if self.memo.shared_count and self.memo.last_read_end > self.memory.read_end:
            # The rest was read when the last stack was walked.
            self.memory.read_end = self.memo.last_read_end
        if (
            self.system_calls.left_signal_stack
            and reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY, StopReason.NO_RULE)
            and not self.memory.live.has_reader
            and not self.memory.low <= values[RSP] < self.memory.high
        ):
            reason = StopReason.SIGNAL_STACK
        if has_gap and reason in (StopReason.ROOT, StopReason.FIBER_ROOT):
            reason = StopReason.PROBED_RETURN
            image = gap_image
        self.stop = reason
        if reason not in (StopReason.ROOT, StopReason.FIBER_ROOT):
            self.stop_image = image
        return count

    def is_whole(self) -> cython.bint:
        """Whether the walk has reached the root of its stack (undwarf.unwind.stop_reason.WHOLE)."""
        return self.stop in (StopReason.ROOT, StopReason.FIBER_ROOT, StopReason.SIGNAL_STACK, StopReason.ENTERED_STACK)

    def _is_probe_trampoline(self, address: cython.ulonglong) -> cython.bint:
        """Whether an address is what the kernel puts in place of the return address of a function with a return probe:
        the start of its page for probes (kernel/events/uprobes.c, `uprobe_get_trampoline_vaddr`)."""
        entry: cython.Py_ssize_t = self.rules.mapping(address)
        image: cython.Py_ssize_t
        if entry < 0:
            # Where the kernel would have it, if the recording does not say.
            return self.registers.link < 0 and address in (UPROBES_PAGE, UPROBES_PAGE_5)
        image = self.rules.spaces.images[entry]
        if self.rules.spaces.starts[entry] != address:
            return False
        self.rules.find(address, address)
        return self.rules.image_state[image] == ImageState.UPROBES

    def _find_probed_caller(self, callee: cython.uint) -> cython.bint:
        """Set the address in the registers to that to which the function of frame ``callee`` returns after its probe,
        as code shows it; False where it does not."""
        if not self.searches_callers:
            return False
        return self.probed_returns.find(
            NOTHING if self._is_in_probe_page(callee) else callee, self.registers.values[RIP]
        )

    def _is_in_probe_page(self, frame: cython.uint) -> cython.bint:
        """Whether a frame is in the kernel's page for probes."""
        image: cython.uint = self.rules.stacks.frame_image[frame]
        return image != NOTHING and self.rules.image_state[image] == ImageState.UPROBES

    def step_back_to_probe(self) -> cython.bint:
        """Set the address in the registers back to the start of the function whose probe is being handled: its first
        instruction, where the breakpoint is, was not executed yet. False where the stack does not show that."""
        pc: cython.ulonglong = self.registers.values[RIP] - 1
        sp: cython.ulonglong = self.registers.values[RSP]
        word: cython.ulonglong
        if self.registers.link >= 0 or not self.searches_callers:
            return False
        self.memory.fault = 0
        word = self.memory.load(sp)
        if self.memory.fault or not (
            (word & IN_PAGE == 0 and self._is_probe_trampoline(word)) or self.probed_returns.calls(word, pc)
        ):
            self.memory.fault = 0
            return False
        self.registers.values[RIP] = pc
        return True

    def _leave_probe_page(self, pc: cython.ulonglong) -> cython.int:
        """Go to the caller of what executes in the kernel's page for probes; returns a stop reason, 0 for none."""
        entry: cython.Py_ssize_t = self.rules.mapping(pc)
        if self.searches_callers and entry >= 0 and self.probed_returns.leave_page(self.rules.spaces.starts[entry]):
            return 0
        return StopReason.PROBED_RETURN

    def _is_called_unmapped(self) -> cython.bint:
        """Whether a call went to an address without code, as through a null pointer; sets ``return_address``, which is
        where the call has put it: nothing was executed since."""
        self.memory.fault = 0
        if self.registers.link >= 0:
            self.return_address = (
                self.registers.values[self.registers.link] if self.registers.known >> self.registers.link & 1 else 0
            )
        else:
            self.return_address = self.memory.load(self.registers.values[RSP])
        self.return_address &= self.registers.address_bits
        if self.memory.fault or self.return_address == 0:
            self.memory.fault = 0
            return False
        return self.rules.follows_call(self.return_address)

    def _is_called_within(self, pc: cython.ulonglong) -> cython.bint:
        """Whether the innermost code, which was looked up last, is a subroutine inside a function: the return address
        that the stack pointer points to is that of a call from elsewhere in the same function."""
        image: cython.uint = self.rules.found_image
        frame: cython.uint = self.rules.found_frame
        return_address: cython.ulonglong
        within: cython.bint = False
        if self.registers.link >= 0 or image == NOTHING:
            return False
        self.memory.fault = 0
        return_address = self.memory.load(self.registers.values[RSP])
        if not self.memory.fault:
            self.rules.find(return_address - 1, return_address)
            if self.rules.found_image == image and self.rules.found_rule < RULE_LIMIT:
                with cython.gil:
                    within = self.rules.source.called_within(
                        image,
                        self.rules.stacks.frame_address[frame],
                        self.rules.stacks.frame_address[self.rules.found_frame] + 1,
                    )
        self.memory.fault = 0
        self.rules.find(pc, pc)
        return within

    def _reason_at_zero(self, image: cython.uint, frame: cython.uint) -> cython.int:
        """Why a stack ends whose outermost frame, of code in ``image``, has a return address of zero.

        On x86-64 threads begin in code without a rule, or whose rule states that it has no caller: stacks that end with
        a zero are those that programs set up themselves. On AArch64 the link register is zero where threads begin, too.
        """
        if (
            image == NOTHING
            or self.registers.link >= 0
            or self.rules.stacks.frame_provenance[frame] == Provenance.GOPCLNTAB
            or self.rules.in_entry_function(image, self.rules.stacks.frame_address[frame])
        ):
            return StopReason.ROOT
        return StopReason.FIBER_ROOT

    def _begins_fiber(self, callee: cython.uint) -> cython.bint:
        """Whether the return address that was looked up last, to which frame ``callee`` returns (all ones: none), is
        the root of a fiber: known code of one, or the start of a function, in a place that unwind information gave.
        No call ends just before a function, so the program itself stored the address there."""
        root: cython.int
        if self.rules.found_rule == RULE_UNMAPPED or (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            return False
        root = self.rules.fiber_evidence()
        return root == Evidence.YES or (
            root == Evidence.POSSIBLE
            and callee != NOTHING
            and self.rules.stacks.frame_provenance[callee] <= Provenance.SFRAME
        )

    def cut_at_fiber_root(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """End a stack that is not whole, and begins at entry ``first`` of the chain, where one of its last frames is
        the root of a fiber. Returns the chain's length."""
        i: cython.Py_ssize_t
        state: FrameStatePointer
        for i in range(max(1, self.states.count - FALSE_FRAMES), min(self.states.count, count - first)):
            state = state_at(self.states.words, i)
            if state.known == ALL_ONES:
                continue
            self.rules.find(state.address - 1, state.address)
            if not self._begins_fiber(self.chain[first + i - 1]):
                continue
            self.rules.find(state.address, state.address)
            self.chain[first + i] = self.rules.found_frame
            self.states.count = i + 1
            self.stop = StopReason.FIBER_ROOT
            self.stop_image = NOTHING
            return first + i + 1
        return count

    def _installs_handler(self, rule: cython.uint) -> cython.bint:
        """Whether a rule is one of a function that jumps to an exception's handler: it saves rax and rdx, which no
        other does, since a handler has its arguments there (gcc, `__builtin_eh_return`)."""
        words: RulePointer
        found: cython.int = 0
        i: cython.int
        if rule >= RULE_LIMIT or self.registers.link >= 0:
            return False
        words = rule_at(self.rules.words, rule)
        for i in range(min(words.saved_count, REGISTERS)):
            if words.saved[i].kind == kinds.AT_CFA and words.saved[i].number in (RAX, RDX):
                found += 1
        return found == 2

    def walk_from_handler(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Walk on, if that reaches the root, where the unwinder of exceptions is about to jump to a handler.

        It stores the registers of the handler's frame where its own function saved those of its caller, the return
        address last; only the stack pointer is missing then. The handler's frame is the first above which the same
        return address still stands. Source: gcc, libgcc/unwind-dw2.c, `uw_install_context_1`. Returns the chain's
        length, -2 if the stack has to be walked again.
        """
        i: cython.Py_ssize_t
        state: FrameStatePointer
        slot: cython.ulonglong
        values: cython.p_ulonglong = self.registers.values
        for i in range(min(self.states.count - 1, HANDLER_FRAMES)):
            state = state_at(self.states.words, i)
            self.rules.find(state.address if state.known == ALL_ONES else state.address - 1, state.address)
            if not self._installs_handler(self.rules.found_rule):
                continue
            state = state_at(self.states.words, i + 1)
            slot = state.stack_pointer
            while (
                self.memory.low <= slot
                and slot < self.memory.high
                and self.memory.high - slot >= 8
                and self.memory.load(slot) != state.address
            ):
                slot += 8
            if slot < self.memory.low or slot >= self.memory.high or self.memory.high - slot < 8:
                return count
            values[RIP] = state.address
            values[RSP] = slot + 8
            values[RBX] = state.rbx
            values[RBP] = state.rbp
            values[12] = state.r12
            values[13] = state.r13
            values[14] = state.r14
            values[15] = state.r15
            self.registers.known = cython.cast(cython.uint, state.known & CALLEE_SAVED)
            self.stop_image = NOTHING
            count = self.walk(first + i + 1, i + 1, False, False)
            return count if self.stop == StopReason.ROOT and not self.ended_at_zero else -2
        return count
