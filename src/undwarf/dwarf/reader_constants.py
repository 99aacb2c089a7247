# constants of kernels: the build writes the .pxd beside this file
"""Limits and enumerations that the kernels which read debugging information share."""

from enum import IntEnum

IN_FUNCTION = 0xFFFFFFFE
"""In place of a parent's row: the DIE is inside a function."""
NULL_ENTRY = -2
"""In place of an abbreviation: code 0, which ends a list of siblings."""
RESERVED_LENGTH = 0xFFFFFFF0
"""Unit lengths from here on are reserved (DWARF 5, 7.4)."""
DWARF64_LENGTH = 0xFFFFFFFF
"""The unit length that announces one of 64 bits."""
BASE_CLASS = 1 << 62
"""Added to the offset of a base class, to tell it from a member."""
MAX_DEPTH = 1024
"""Maximum nesting of DIEs."""
MAX_HOPS = 32
"""Maximum references followed from a DIE to the one that has its name or its type."""
LARGEST_OFFSET = 0xFFFFFFFFFFFF
"""Sizes and offsets above this are damage."""
MAX_REUSED = 1 << 16
"""Rows up to which the memory of one unit is reused for the next."""
MAX_STRING = 1 << 16
"""Maximum bytes of a string; longer ones are cut."""
SKIP_IN_C = 0x80000000
"""Set in an abbreviation's ``sibling``: the children declare nothing but members in units of C only."""


class Next(IntEnum):
    """What follows the attributes of a DIE."""

    END = 0
    SIBLING = 1
    CHILD = 2


class DieKind(IntEnum):
    """What a DIE declares, as bits; 0 for DIEs that declare nothing."""

    FUNCTION = 1
    TYPE = 2
    """Structures, unions, classes, interfaces, enumerations."""
    SCOPE = 4
    """Namespaces and typedefs."""
    VARIABLE = 8
    """Variables that may have one address all the time, or are only declared."""
    INLINED = 16


class AttributeRole(IntEnum):
    """What an attribute contributes to a unit's index, as bits; 0 for most."""

    IS_NAME = 1
    """Names, declarations, and references to the DIE that has the name."""
    IS_LOCATION = 2
    IS_TYPE = 4
    IS_IDENTITY = 8
    """Line, column and size: they distinguish types that have no name."""
