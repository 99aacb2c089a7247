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

END = 0xFFFF
"""In the log of frames (:mod:`undwarf.unwind.frame_log`), in place of a frame's size: the stack ends here, or continues
elsewhere in the log."""


class LiveState(IntEnum):
    """Whether the process's stack above the end of the dump was requested for this sample, and can be read."""

    NOT_REQUESTED = 0
    READABLE = 1
    REFUSED = 2
