"""undwarf/dwarf/walks.pxd"""

MAX_DEPTH: int
MAX_HOPS: int
NOTHING: int
BESIDE: int
BELOW: int
