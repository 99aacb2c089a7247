# constants of kernels: the build writes the .pxd beside this file
"""How each frame of a stack was found."""

from enum import IntEnum


class Provenance(IntEnum):
    """How a frame's caller was found; of recorded call chains, who made the chain. Numbers below 16 are those of the
    sources of unwind rules.

    >>> profile.samples[0].stack[0].provenance
    <Provenance.EH_FRAME: 1>
    """

    EH_FRAME = 1
    """A rule of `.eh_frame`."""
    DEBUG_FRAME = 2
    """A rule of `.debug_frame`."""
    SFRAME = 3
    """A rule of `.sframe`."""
    ORC = 4
    """A rule of the kernel's ORC tables."""
    CODE = 5
    """A rule derived from the instructions."""
    GOPCLNTAB = 6
    """A rule of Go's function table."""
    KERNEL_CHAIN = 16
    """The kernel's own part of a recorded call chain."""
    USER_CHAIN = 17
    """The user part of a recorded call chain."""
    FRAME_POINTER = 18
    """A frame pointer whose return address follows a call."""
    NOTHING = 19
    """Nothing: the address is in no code that is known."""
    DEFERRED_CHAIN = 20
    """A user chain that the kernel recorded when the thread returned to user mode."""
    BRANCH_STACK = 21
    """The processor's record of branches."""
    ENTRY = 25
    """The function that entered code compiled at run time, which has one frame on the machine's stack."""
    OTHER_DUMP = 24
    """A caller outside of the sample's own dump, inferred from another dump of its thread."""
    OTHER_TOOL = 28
    """As a profile of another tool has it, which does not say how it was found."""
    MOVED_CODE = 26
    """A frame in memory without a file, found by the file that was mapped there before: the program has copied its code
    there, as is done to have it on large pages."""
    INFERRED_CALLER = 27
    """A caller whose return address the dump does not hold, inferred from code: the function had returned before the
    stack of a precise sample was taken, or a return probe has replaced it."""
    RETURN_ADDRESS = 29
    """Code without a rule that had no frame of its own: its return address is near the stack pointer, where the code
    proves it, or permits it no less than the one by the frame pointer."""
    UNPROVEN = 30
    """Code without a rule, by the frame pointer, though the code rules this caller out; no other one proves itself."""
