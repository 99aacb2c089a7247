# constants of kernels: the build writes the .pxd beside this file
"""The words of an instruction template and of its memory operands (:mod:`undwarf.disasm.templates`)."""

ROW_WORDS = 16
ROW_FLOW = 0
ROW_ACTION = 1
ROW_DESTINATION = 2
ROW_LEFT = 3
ROW_RIGHT = 4
ROW_WIDTH = 5
ROW_IMMEDIATE = 6
ROW_RULE = 7
"""FIXED to NEGATED_UNSIGNED_SHORT: how the immediate is computed."""
ROW_WRITES = 8
"""Bit n: register n is written, for n below 64."""
ROW_WRITES_HIGH = 9
"""Bit n: register 64 + n is written."""
ROW_OPERAND = 10
"""Index of the first memory operand."""
ROW_OPERANDS = 11
"""Number of memory operands."""
ROW_FLAGS = 12
ROW_READ = 13
"""The first register that is read, or -1."""
ROW_READS = 14
"""As ROW_WRITES."""
ROW_READS_HIGH = 15

OPERAND_WORDS = 12
OPERAND_BASE = 0
OPERAND_INDEX = 1
OPERAND_SCALE = 2
OPERAND_DISPLACEMENT = 3
OPERAND_DISPLACED = 4
"""1 if the instruction's own displacement is added."""
OPERAND_SEGMENT = 5
OPERAND_SIZE = 6
OPERAND_ACCESS = 7
"""1 read, 2 written, 3 both."""
OPERAND_IMPLICIT = 8
OPERAND_WRITEBACK = 9
OPERAND_ELEMENT = 10
OPERAND_FLOATING = 11

FIXED = 0
"""The immediate is the template's; for the other rules it is computed from the instruction's bytes."""
SIGNED = 1
UNSIGNED = 2
NEGATED = 3
NEGATED_UNSIGNED = 4
UNSIGNED_SHORT = 5
NEGATED_UNSIGNED_SHORT = 6
"""UNSIGNED: 32 bits; SHORT: 16 bits."""

PADDING = 1
"""Flag: a no-op, or of flow STOP."""
FIXED_ADDRESS = 2
"""Flag: loads a constant address into a register."""
KEEPS_SIGN = 4
"""Flag: the loaded or extended value is signed."""

TARGETED = 16
"""Bit in a listing's column of flows: the instruction has a target."""
