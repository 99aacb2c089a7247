# constants of kernels: the build writes the .pxd beside this file
"""Classes of attribute values."""

from enum import IntEnum


class ValueClass(IntEnum):
    """The class of an attribute's value (DWARF 5, 7.5.5), where forms of one class are distinguished.

    The value of ``BLOCK``, ``STRING`` and ``DATA16`` is an offset in the section itself; ``STRP`` to ``STRP_ALT`` are
    offsets or indices of strings elsewhere; ``REF`` is an offset in the section, ``REF_ALT`` in the supplementary file.
    """

    NOTHING = 0
    ADDRESS = 1
    UNSIGNED = 2
    SIGNED = 3
    FLAG = 4
    BLOCK = 5
    STRING = 6
    STRP = 7
    LINE_STRP = 8
    STRX = 9
    STRP_ALT = 10
    REF = 11
    REF_ALT = 12
    REF_SIG8 = 13
    SEC_OFFSET = 14
    ADDRX = 15
    LOCLISTX = 16
    RNGLISTX = 17
    DATA16 = 18
