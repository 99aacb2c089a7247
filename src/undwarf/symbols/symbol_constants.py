# constants of kernels: the build writes the .pxd beside this file
"""Layout of a name's reference, and bits of symbols and sections by which the names of addresses are chosen."""

RANK_SIZED = 8
RANK_TYPED = 4
RANK_STRONG = 2
"""It is not weak."""
RANK_GLOBAL = 1
"""A symbol's rank; of several symbols at an address the one with the highest rank counts."""

SECTION_LOADED = 1
SECTION_CODE = 2
SECTION_LABELS = 4
"""A section is loaded, is executable; symbols without a type count in it."""

NAME_TEXT_SHIFT = 48
NAME_OFFSET_MASK = (1 << 48) - 1
"""A reference to a name: index of its text << NAME_TEXT_SHIFT | offset in that text."""
