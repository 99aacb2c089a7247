"""undwarf/mapping_table.pxd"""

from typing import Any

MAPPINGS: int
SIGBUS: int
BUS_ADRERR: int
SIG_DFL: Any

class Mapping:
    start: int
    end: int
    cut: int
