# constants of kernels: the build writes the .pxd beside this file
"""Why a stack ends where it ends, and which of the reasons are those of whole stacks."""

from enum import IntEnum


class StopReason(IntEnum):
    """The end of a sample's user part. Only those in WHOLE are whole stacks; NONE has no user part at all.

    INFERRED_ROOT: whole with callers from another dump (:mod:`undwarf.unwind.other_dumps`), or from memory of the
    process at another time (:mod:`undwarf.live.sampling.stack_continuation`). ABSENT_PAGE: as TRUNCATED, where the
    kernel stopped at a page boundary before the size that was asked for: it copies the stack without waiting and ends
    at the first page that is not in memory (perf_output_sample_ustack), as in a large frame that was not all used.
    UNPROVEN_STATE: the registers of a precise sample are later than its instruction, and nothing proves where they are
    of (:mod:`undwarf.unwind.exact_state`)."""

    NONE = 0
    ROOT = 1
    TRUNCATED = 2
    NO_RULE = 3
    UNMAPPED = 4
    BAD_CFA = 5
    LOOP = 6
    DEPTH = 7
    NO_DUMP = 8
    NO_FILE = 9
    UNREADABLE_MEMORY = 10
    UNSUPPORTED = 11
    BAD_RULE = 12
    UNKNOWN_REGISTER = 13
    DEFERRED = 14
    OTHER_STACK = 15
    FIBER_ROOT = 16
    SIGNAL_STACK = 17
    REPLACED = 18
    ENTERED_STACK = 19
    INFERRED_ROOT = 20
    ABSENT_PAGE = 21
    HASKELL_STACK = 22
    UNPROVEN_STATE = 23

    @classmethod
    def _missing_(cls, value: object) -> "StopReason | None":
        """The reason of a number that has no name, which a damaged recording or one of a later version may have."""
        if not isinstance(value, int) or not 0 <= value <= 255:
            return None
        unnamed = int.__new__(cls, value)
        unnamed._name_ = f"REASON_{value}"
        unnamed._value_ = value
        return unnamed


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
