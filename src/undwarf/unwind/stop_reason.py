# constants of kernels: the build writes the .pxd beside this file
"""Why a stack ends where it ends."""

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
