"""Stop reasons in words, and which of them are those of whole stacks."""

from undwarf.unwind.stop_reason import StopReason

DESCRIPTIONS = {
    StopReason.NONE: "no user part",
    StopReason.ROOT: "root reached",
    StopReason.TRUNCATED: "the stack dump ended",
    StopReason.NO_RULE: "no unwind rule for the address",
    StopReason.UNMAPPED: "the return address is in no executable mapping",
    StopReason.BAD_CFA: "the call frame address does not move up",
    StopReason.LOOP: "the walk returned to a frame that it had visited",
    StopReason.DEPTH: "the limit of frames was reached",
    StopReason.NO_DUMP: "no stack dump was recorded",
    StopReason.NO_FILE: "the mapped file is missing or another build",
    StopReason.UNREADABLE_MEMORY: "a rule reads memory that was not recorded",
    StopReason.UNSUPPORTED: "the process's architecture is not supported yet",
    StopReason.BAD_RULE: "the unwind rule cannot be used",
    StopReason.UNKNOWN_REGISTER: "a register the rule needs was not recorded",
    StopReason.DEFERRED: "the deferred user chain never arrived",
    StopReason.INFERRED_ROOT: "the stack dump ended; outer callers are inferred from other samples of the thread",
    StopReason.ABSENT_PAGE: "the stack dump ended early, at a page of the stack that was not in memory",
    StopReason.OTHER_STACK: "the callers are on another stack, which was not recorded",
    StopReason.FIBER_ROOT: "root of a fiber reached",
    StopReason.SIGNAL_STACK: "root of an alternate signal stack; the interrupted stack, elsewhere, was not recorded",
    StopReason.ENTERED_STACK: "root of a stack of its own; what entered it, on another stack, was not recorded",
    StopReason.HASKELL_STACK: "the C callers of the Haskell code were not recorded",
    StopReason.REPLACED: "the process was being replaced by another program (execve)",
    StopReason.UNPROVEN_STATE: "precise sample: its registers are later than its address, and no caller proves itself",
}

WHOLE = frozenset((StopReason.ROOT, StopReason.FIBER_ROOT, StopReason.SIGNAL_STACK, StopReason.ENTERED_STACK))
"""Reasons of stacks that were followed to their own root: nothing of them is missing."""
