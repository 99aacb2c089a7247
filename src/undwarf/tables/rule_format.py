# constants of kernels: the build writes the .pxd beside this file
"""Sizes, in words, of what tables keep in columns, and what stands there in place of the number of a rule."""

STRIDE = 80
"""A rule: 32-bit words, see :mod:`undwarf.tables.model`."""
ENTRIES = 18
"""Registers that a rule restores at most."""

STATE = 40
"""What rules are compared by: CFA, its extra, registers, and in the last word what else counts."""
SIGNED = 1 << 16
"""In such a state's first word: the return address is signed (AArch64)."""

NO_RULE = 0xFFFFFFFF
"""In rows: there is no rule for these addresses."""
UNKNOWN = 0xFFFFFFFE
"""In the rows of a whole file: they do not cover these addresses, another source may."""
