# constants of kernels: the build writes the .pxd beside this file
"""How each frame of a stack was found."""

from enum import IntEnum


class Provenance(IntEnum):
    """How the step from a frame to its caller was made; for recorded chains, who made the chain.

    The numbers below 16 are the sources of a rule (:mod:`undwarf.tables.model`).
    """

    EH_FRAME = 1
    DEBUG_FRAME = 2
    SFRAME = 3
    ORC = 4
    CODE = 5
    GOPCLNTAB = 6
    KERNEL_CHAIN = 16
    USER_CHAIN = 17
    FRAME_POINTER = 18
    NOTHING = 19
    DEFERRED_CHAIN = 20
    BRANCH_STACK = 21
    ENTRY = 25
    """The function that entered code compiled at run time, which has one frame on the machine's stack."""
    OTHER_DUMP = 24
    """A caller outside of the sample's own dump, inferred from another dump of its thread."""
    OTHER_TOOL = 28
    """As a profile of another tool has it, which does not say how it was found."""
    MOVED_CODE = 26
    """A frame in memory without a file, found by the file that was mapped there before: the program has copied its code
    there, as is done to have it on large pages (:mod:`undwarf.profile.moved_code`)."""
    INFERRED_CALLER = 27
    """A caller whose return address the dump does not hold, inferred from code: the function had returned before the
    stack of a precise sample was taken (:mod:`undwarf.unwind.exact_state`)."""
