# constants of kernels: the build writes the .pxd beside this file
"""Instructions of line number programs (DWARF 5, 7.22), without `DW_LNS_`, `DW_LNE_` and `DW_LNCT_`."""

COPY = 1
ADVANCE_PC = 2
ADVANCE_LINE = 3
SET_FILE = 4
SET_COLUMN = 5
NEGATE_STMT = 6
SET_BASIC_BLOCK = 7
CONST_ADD_PC = 8
FIXED_ADVANCE_PC = 9
SET_PROLOGUE_END = 10
SET_EPILOGUE_BEGIN = 11

# Another number follows, which says what is done.
EXTENDED = 0
END_SEQUENCE = 1
SET_ADDRESS = 2
DEFINE_FILE = 3

# What the header of version 5 says of directories and files.
PATH = 1
DIRECTORY_INDEX = 2
