"""undwarf/unwind/path_positions.pxd"""

from typing import Any

MAX_POSITIONS: int
MAX_STATES: int
MAX_CALLS: int
STEPS: int
StatePointer = Any
