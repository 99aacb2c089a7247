# constants of kernels: the build writes the .pxd beside this file
"""Operations of relocations: the value that is stored.

S is the value of the symbol, A the addend, P the relocated address, V the value before.
"""

ABSOLUTE = 1
"""S + A"""
RELATIVE = 2
"""S + A - P"""
ADD = 3
"""V + S + A"""
SUBTRACT = 4
"""V - S - A"""
SET_LOW = 5
"""S + A in the low six bits."""
SUBTRACT_LOW = 6
"""V - S - A in the low six bits."""
SET_LEB = 7
"""S + A as a LEB128 number of the same length."""
SUBTRACT_LEB = 8
"""V - S - A as one."""
KEEP = 9
"""V"""
