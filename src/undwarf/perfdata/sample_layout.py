# constants of kernels: the build writes the .pxd beside this file
"""Where the fields of samples go: columns of the column store, and words of the table of events.

`sample_layout.pxd` has the numbers for compiled modules.
"""

# Columns of 64-bit words.
WORD_POSITION = 0
WORD_TIME = 1
WORD_IP = 2
WORD_PERIOD = 3
WORD_ADDR = 4
WORD_WEIGHT = 5
WORD_DATA_SRC = 6
WORD_TRANSACTION = 7
WORD_PHYS_ADDR = 8
WORD_CGROUP = 9
WORD_DATA_PAGE_SIZE = 10
WORD_CODE_PAGE_SIZE = 11
WORD_ID = 12
WORD_STREAM_ID = 13

# Columns of signed numbers of 32 bits.
INT_PID = 0
INT_TID = 1
INT_CPU = 2

# Columns of 16 bits; most say where in the record a field is.
SHORT_EVENT = 0
SHORT_MISC = 1
SHORT_CALLCHAIN_AT = 2
SHORT_REGS_AT = 3
SHORT_STACK_AT = 4
SHORT_READ_AT = 5
SHORT_RAW_AT = 6
SHORT_BRANCH_AT = 7
SHORT_REGS_INTR_AT = 8

# Words of an event in the table that :func:`undwarf.perfdata.events.decoder_table` makes.
EVENT_WORDS = 16
EVENT_FIELDS = 0
"""Bits of its `sample_type`."""
EVENT_READ_FORMAT = 1
EVENT_REGS_USER = 2
EVENT_REGS_INTR = 3
"""How many registers there are."""
EVENT_BRANCHES = 4
"""Bits of its `branch_sample_type`."""
EVENT_PERIOD = 5
EVENT_ID_ALL = 6
EVENT_TRAILER = 7
"""Bytes of what `sample_id_all` puts behind other records."""
EVENT_ID_AT = 8
"""Where the id is in a sample; 0 for nowhere."""
EVENT_READ_TIMES = 9
EVENT_VALUE_WORDS = 10
"""Words of times before the values that are read, and of each value."""
EVENT_ID_DISTANCE = 11
"""How far before the end of other records the id is."""
EVENT_BY_THREAD = 12
"""Whether its counters count for each thread."""
