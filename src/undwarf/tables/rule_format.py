# constants of kernels: the build writes the .pxd beside this file
"""Sizes of rules in words, and marks in place of a rule's number."""

STRIDE = 80
"""32-bit words of a rule (`tables/rule.pxd`)."""
ENTRIES = 18
"""The most registers that a rule restores."""

STATE = 40
"""64-bit words of a state, by which rules are compared: the call frame address, its extra word, registers, and in the
last word everything else."""
REGISTERS = 36
"""Registers that a state has words for, from its third one on."""
SIGNED = 1 << 16
"""In a state's first word: the return address is signed (AArch64)."""

NO_RULE = 0xFFFFFFFF
"""In rows: there is no rule for these addresses."""
UNKNOWN = 0xFFFFFFFE
"""In the rows of a whole file: not covered; another source may have a rule."""
