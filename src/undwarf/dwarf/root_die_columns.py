# constants of kernels: the build writes the .pxd beside this file
"""Columns of the attributes of units' root DIEs."""

from enum import IntEnum


class Root(IntEnum):
    """The ``ROOT_COLUMNS`` columns of a root DIE."""

    NAME = 0
    COMP_DIR = 1
    STMT_LIST = 2
    LOW_PC = 3
    HIGH_PC = 4
    RANGES = 5
    LANGUAGE = 6
    DWO_NAME = 7
    DWO_ID = 8
    STR_OFFSETS_BASE = 9
    ADDR_BASE = 10
    RNGLISTS_BASE = 11
    LOCLISTS_BASE = 12
    GNU_RANGES_BASE = 13
    TAG = 14
    CHILDREN = 15


ROOT_COLUMNS = 16
