# constants of kernels: the build writes the .pxd beside this file
"""Kinds of call frame addresses and of saved registers in rules (`tables/rule.pxd`), flags, and sources of rules."""

from enum import IntEnum

# How the call frame address is found.
CFA_UNDEFINED = 0
CFA_REGISTER = 1
"""Register + offset."""
CFA_DEREF = 2
"""The word at register + offset, plus extra."""
CFA_PLT = 3
"""A lazy procedure linkage table: rsp + offset, 8 more where pc & 15 >= extra."""
CFA_EXPRESSION = 4
"""The value of the expression numbered extra."""

# How a register is found.
UNDEFINED = 1
AT_CFA = 2
"""Saved at call frame address + value."""
IS_CFA = 3
"""Is call frame address + value."""
REGISTER = 4
"""In register ``value``."""
AT_REGISTER = 5
"""Saved at register ``base`` + value."""
EXPRESSION = 6
"""Saved at the value of expression ``value``."""
IS_EXPRESSION = 7
"""Is the value of expression ``value``."""
REGISTER_PLUS = 8
"""Only in keys of SFrame: the register plus an offset, which takes an expression in a rule."""

# Flags.
FLAG_SIGNAL = 1
"""A signal frame."""
FLAG_OUTERMOST = 2
FLAG_SIGNED = 4
"""The return address is signed."""
FLAG_EXPRESSION = 8
"""Of rules with an expression."""
FLAG_UNPROVEN = 16
"""It applies only if the return address follows a call."""
FLAG_INTERRUPTED = 32
"""Interrupted code of x86-64: above the return address is the code segment; its lowest two bits are 0 in the kernel."""
FLAG_HASKELL = 64
"""Of Haskell code: it applies only if the return address follows a call of ``StgRun``."""


class RuleSource(IntEnum):
    """What a rule was read from; :class:`undwarf.unwind.provenance.Provenance` begins with the same numbers."""

    EH_FRAME = 1
    DEBUG_FRAME = 2
    SFRAME = 3
    ORC = 4
    CODE = 5
    GOPCLNTAB = 6
