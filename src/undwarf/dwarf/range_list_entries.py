# constants of kernels: the build writes the .pxd beside this file
"""Kinds of entries of range lists (DWARF 5, 7.25), without `DW_RLE_`."""

END_OF_LIST = 0
BASE_ADDRESSX = 1
STARTX_ENDX = 2
STARTX_LENGTH = 3
OFFSET_PAIR = 4
BASE_ADDRESS = 5
START_END = 6
START_LENGTH = 7
