# constants of kernels: the build writes the .pxd beside this file
"""Why a stack ends where it ends, and which of the reasons are those of whole stacks."""

from enum import IntEnum


class StopReason(IntEnum):
    """Why a sample's user stack ends where it ends. ``is_whole``: nothing of it is missing.

    >>> undwarf.StopReason.TRUNCATED.description, undwarf.StopReason.ROOT.is_whole
    ('the stack dump ended', True)
    """

    NONE = 0
    """The sample has no user part."""
    ROOT = 1
    """The root was reached: the stack is whole."""
    TRUNCATED = 2
    """The stack dump ended."""
    NO_RULE = 3
    """No unwind rule for the address."""
    UNMAPPED = 4
    """The return address is in no executable mapping."""
    BAD_CFA = 5
    """The call frame address does not move up."""
    LOOP = 6
    """The walk returned to a frame that it had visited."""
    DEPTH = 7
    """The limit of frames was reached."""
    NO_DUMP = 8
    """No stack dump was recorded."""
    NO_FILE = 9
    """The mapped file is missing or another build."""
    UNREADABLE_MEMORY = 10
    """A rule reads memory that was not recorded."""
    UNSUPPORTED = 11
    """The process's architecture is not supported yet."""
    BAD_RULE = 12
    """The unwind rule cannot be used."""
    UNKNOWN_REGISTER = 13
    """A register the rule needs was not recorded."""
    DEFERRED = 14
    """The deferred user chain never arrived."""
    OTHER_STACK = 15
    """The callers are on another stack, which was not recorded."""
    FIBER_ROOT = 16
    """Root of a fiber reached."""
    SIGNAL_STACK = 17
    """Root of an alternate signal stack; the interrupted stack, elsewhere, was not recorded."""
    REPLACED = 18
    """The process was being replaced by another program (execve)."""
    ENTERED_STACK = 19
    """Root of a stack of its own; what entered it, on another stack, was not recorded."""
    INFERRED_ROOT = 20
    """The root was reached with callers that are inferred: from another dump of the thread, or from memory of the
    process at another time."""
    ABSENT_PAGE = 21
    """The stack dump ended early, at a page of the stack that was not in memory: the kernel copies the stack without
    waiting and stops at such a page (perf_output_sample_ustack), as in a large frame that was not all used."""
    HASKELL_STACK = 22
    """The C callers of the Haskell code were not recorded."""
    UNPROVEN_STATE = 23
    """The registers of a precise sample are later than its instruction, and no caller proves itself."""
    PROBED_RETURN = 25
    """The kernel keeps the return address of a function with a return probe (uretprobe) to itself, and no caller proves
    itself."""
    UNSTATED = 24
    """The stack is from a profile of another tool, which does not say how it ends."""

    @classmethod
    def _missing_(cls, value: object) -> "StopReason | None":
        """The reason of a number that has no name, which a damaged recording or one of a later version may have."""
        if not isinstance(value, int) or not 0 <= value <= 255:
            return None
        unnamed = int.__new__(cls, value)
        unnamed._name_ = f"REASON_{value}"
        unnamed._value_ = value
        return unnamed

    @property
    def is_whole(self) -> bool:
        """Whether the stack was followed to its own root."""
        return self in WHOLE

    @property
    def description(self) -> str:
        """The reason in words."""
        return DESCRIPTIONS.get(self, f"reason {self.value}")


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
    StopReason.UNSTATED: "the profile is of another tool, which does not say if its stacks are whole",
    StopReason.UNPROVEN_STATE: "precise sample: its registers are later than its address, and no caller proves itself",
    StopReason.PROBED_RETURN: "a return probe has replaced the return address, and no caller proves itself",
}

WHOLE = frozenset((StopReason.ROOT, StopReason.FIBER_ROOT, StopReason.SIGNAL_STACK, StopReason.ENTERED_STACK))
"""Reasons of stacks that were followed to their own root: nothing of them is missing."""
