# constants of kernels: the build writes the .pxd beside this file
"""Kinds of values that attributes have."""

from enum import IntEnum


class ValueClass(IntEnum):
    """What an attribute's value is (DWARF 5, 7.5.5, with the forms of one class told apart).

    ``BLOCK``, ``STRING`` and ``DATA16`` lie in the section itself, where the value says; ``STRP`` to ``STRP_ALT`` are
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
