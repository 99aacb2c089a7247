# constants of kernels: the build writes the .pxd beside this file
"""Words of a template of instructions, and of each of its memory operands (:mod:`undwarf.disasm.templates`)."""

ROW_WORDS = 16
ROW_FLOW = 0
ROW_ACTION = 1
ROW_DESTINATION = 2
ROW_LEFT = 3
ROW_RIGHT = 4
ROW_WIDTH = 5
ROW_IMMEDIATE = 6
ROW_RULE = 7
"""How the immediate is computed from the instruction's."""
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
"""Whether the instruction's displacement is added."""
OPERAND_SEGMENT = 5
OPERAND_SIZE = 6
OPERAND_ACCESS = 7
"""1 read, 2 written, 3 both."""
OPERAND_IMPLICIT = 8
OPERAND_WRITEBACK = 9
OPERAND_ELEMENT = 10
OPERAND_FLOATING = 11

FIXED = 0
"""How an instruction's immediate is computed from its bytes: it is the template's."""
SIGNED = 1
UNSIGNED = 2
NEGATED = 3
NEGATED_UNSIGNED = 4
UNSIGNED_SHORT = 5
NEGATED_UNSIGNED_SHORT = 6
"""Those called UNSIGNED have 32 bits, the short ones 16."""

PADDING = 1
"""Flag: does nothing, or stops."""
FIXED_ADDRESS = 2
"""Flag: puts a fixed address into a register."""
KEEPS_SIGN = 4
"""Flag: what is loaded or extended is signed."""

TARGETED = 16
"""Bit of a listing's column of flows: the instruction has a target."""
