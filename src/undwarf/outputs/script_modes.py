# constants of kernels: the build writes the .pxd beside this file
"""The bits that say how script prints the samples of an event: its fields, and how."""

COMM = 1
TID = 1 << 1
PID = 1 << 2
TIME = 1 << 3
CPU = 1 << 4
PERIOD = 1 << 5
EVENT = 1 << 6
ADDR = 1 << 7
IP = 1 << 8
SYM = 1 << 9
SYMOFF = 1 << 10
DSO = 1 << 11
SRCLINE = 1 << 12
DATA_SRC = 1 << 13
WEIGHT = 1 << 14
INS_LAT = 1 << 15
CHAIN = 1 << 16
"""Frames have lines of their own: the event has call chains."""
NANOSECONDS = 1 << 17
WHY = 1 << 18
DUMPED = 1 << 19
"""The event has stack dumps, not chains."""
RETIRE_LAT = 1 << 20
PHYS_ADDR = 1 << 21
DATA_PAGE_SIZE = 1 << 22
CODE_PAGE_SIZE = 1 << 23
DSO_OFFSET = 1 << 24
PLACE = 25
"""The bit of the first place at which :mod:`undwarf.outputs.script_fields` writes; the others follow."""
BEFORE_TIME = 0
AFTER_EVENT = 1
AFTER_ADDRESS = 2
BEFORE_FRAMES = 3
AFTER_FRAMES = 4
AFTER_LINE = 5
SKIPPED = 1 << 31
"""Nothing is printed."""

MEMORY = DATA_SRC | WEIGHT | INS_LAT | RETIRE_LAT | PHYS_ADDR | DATA_PAGE_SIZE | CODE_PAGE_SIZE
"""Details of the memory access."""
TAIL = MEMORY | 1 << PLACE + AFTER_FRAMES | 1 << PLACE + AFTER_LINE
"""What may follow a frame on the sample's own line."""
