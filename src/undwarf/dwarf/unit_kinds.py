# constants of kernels: the build writes the .pxd beside this file
"""Kinds of units."""

from enum import IntEnum


class UnitKind(IntEnum):
    """DW_UT_* (DWARF 5, 7.5.1); units of DWARF 2 to 4 count as compile or type units."""

    COMPILE = 1
    TYPE = 2
    PARTIAL = 3
    SKELETON = 4
    SPLIT_COMPILE = 5
    SPLIT_TYPE = 6
