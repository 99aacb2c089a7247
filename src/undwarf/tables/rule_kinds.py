# constants of kernels: the build writes the .pxd beside this file
"""Kinds of call frame addresses and of registers in rules, and flags of rules.

:mod:`undwarf.tables.model` says what each means; `rule_kinds.pxd` has the numbers for compiled modules.
"""

# How the call frame address is found.
CFA_UNDEFINED = 0
CFA_REGISTER = 1
CFA_DEREF = 2
CFA_PLT = 3
CFA_EXPRESSION = 4

# How a register is found.
UNDEFINED = 1
AT_CFA = 2
IS_CFA = 3
REGISTER = 4
AT_REGISTER = 5
EXPRESSION = 6
IS_EXPRESSION = 7
REGISTER_PLUS = 8
"""In no rule, but in what SFrame says: an offset added, for which a rule needs an expression."""

# Flags.
FLAG_SIGNAL = 1
FLAG_OUTERMOST = 2
FLAG_SIGNED = 4
FLAG_EXPRESSION = 8
FLAG_UNPROVEN = 16
FLAG_INTERRUPTED = 32
FLAG_HASKELL = 64
