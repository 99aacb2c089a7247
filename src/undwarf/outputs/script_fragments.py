# constants of kernels: the build writes the .pxd beside this file
"""The constant parts of a line of ``script --json``, by number."""

from enum import IntEnum


class Fragment(IntEnum):
    """The number of each part in :data:`TEXTS`."""

    HEAD = 0
    PID = 1
    TID = 2
    CPU = 3
    TIME = 4
    PERIOD = 5
    ADDR = 6
    PHYSICAL = 7
    SOURCE = 8
    WEIGHT = 9
    TRACE = 10
    STOP = 11
    FRAMES = 12
    END = 13
    IP = 14
    SYM = 15
    OFFSET = 16
    DSO = 17
    FILE = 18
    LINE = 19
    INLINED = 20
    INFERRED = 21
    NULL = 22
    TRUE = 23
    FALSE = 24


TEXTS = (
    b'{"schema":"undwarf/script","version":1,"comm":', b',"pid":', b',"tid":', b',"cpu":', b',"time_ns":',
    b',"period":', b',"addr":', b',"phys_addr":', b',"data_src":', b',"weight_cycles":', b',"trace":',
    b',"stop":', b',"frames":', b"}\n", b'{"ip":', b',"sym":', b',"symoff_bytes":', b',"dso":',
    b',"file":', b',"line":', b',"inlined":', b',"inferred":', b"null", b"true", b"false",
)  # fmt: skip  # a table
