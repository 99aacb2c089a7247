"""Numbers of DWARF that more than one module here needs, and what kinds of values attributes have."""

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


class Root(IntEnum):
    """Places of what is kept of a unit's root; ``PLACES`` are kept of each."""

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


PLACES = 16


class UnitKind(IntEnum):
    """DW_UT_* (DWARF 5, 7.5.1); units of DWARF 2 to 4 count as compile or type units."""

    COMPILE = 1
    TYPE = 2
    PARTIAL = 3
    SKELETON = 4
    SPLIT_COMPILE = 5
    SPLIT_TYPE = 6
