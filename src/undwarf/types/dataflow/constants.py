# constants of kernels: the build writes the .pxd beside this file
"""Integers that the kernels of the data flow share."""

NUMBER = 0
FRAME = 1
OBJECT = 2
ADDRESS = 3
PERCPU = 4
THREAD = 5
POISON = 6
VIRTUAL = 7
"""Bases of values, which :mod:`undwarf.types.dataflow.abstract_values` explains."""

NOTHING = 0
UNKNOWN = 1
NULL = 2
NOWHERE = 3
ANYWHERE = 4
"""Indices of the values that every function has: not known, any integer, the integer 0, an address of nothing, a
pointer to void."""

REGISTERS = 96
"""Registers of a machine state, by DWARF number; stack slots follow them."""

COUNTED = -1
UNTOUCHED = -2
"""In place of the bytes that a callee may write behind a pointer argument: as many as another argument says; none, and
the pointer does not escape."""

LARGEST = 1 << 62
"""Offsets and steps at least this large are not known."""

SYMBOLS = 1 << 44
"""Symbols of values are below it. That of a quotient has the dividend's, plus this times the exponent of the power of
two it was divided by; it is negative where the quotient is multiplied again, as by clearing low bits."""

LOW_WORD = 1 << 32
"""Integers of four bytes are below it; from its half on they are negative, if they are signed."""

ALIGNED = 1 << 24
"""Below the call frame address by this is what an aligned stack pointer points to: how far it really is is not known,
and both are counted from there on."""

LOWER_HALF = 1 << 10
"""Added to a register's number where only its lower half was tested."""
