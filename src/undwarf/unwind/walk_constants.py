# constants of kernels: the build writes the .pxd beside this file
"""Numbers that the kernels of the walk share."""

from enum import IntEnum

RULE_NO = 0xFFFFFFFF
"""In place of a rule's number: the image has no rule for the address."""
RULE_UNMAPPED = 0xFFFFFFFE
"""The address is in no executable mapping."""
RULE_NO_FILE = 0xFFFFFFFD
"""The mapped file is missing, or another build."""
RULE_LIMIT = 0xFFFFFFF0
"""Numbers of rules are below it."""

STACK_LIMIT = 8 << 20
"""Bytes of a stack, at most: its usual limit. Memory further away belongs to another one."""

IN_PAGE = 4095
"""The bits of an address within its page."""

END = 0xFFFF
"""In the log of frames (:mod:`undwarf.unwind.frame_log`), in place of a frame's size: the stack ends here, or continues
elsewhere in the log."""


class ImageState(IntEnum):
    """What can be looked up in an image."""

    NOT_LOADED = 0
    HAS_TABLE = 1
    UNUSABLE = 2
    """The file is missing or another build, or of a kind that has no rules."""
    EXHAUSTED = 3
    """It has no table, or one whose sources were all consulted."""
    ANONYMOUS = 4
    """Code without a file: its addresses are those it ran at."""
    COPIED = 5
    """Such code with a table by the addresses it ran at (:mod:`undwarf.tables.from_copies`)."""
    UPROBES = 6
    """The kernel's page for probes: its start stands in place of the return addresses of probed functions."""


class Evidence(IntEnum):
    """What an image's code shows; 0 where it was not read yet."""

    YES = 1
    NO = 2
    POSSIBLE = 3
    """Neither is excluded: the code cannot be read, or shows one of several conditions."""


class LiveState(IntEnum):
    """Whether the process's stack above the end of the dump was requested for this sample, and can be read."""

    NOT_REQUESTED = 0
    READABLE = 1
    REFUSED = 2


class Reach(IntEnum):
    """How far return addresses prove themselves, from one on outwards."""

    NOTHING = 0
    DUMP = 1
    """As far as the dump goes, or the rules."""
    GAP = 2
    """Up to one that a probe has replaced, without a caller that proves itself."""
    ROOT = 3
