"""undwarf/unwind/exact_positions.pxd"""

from undwarf.unwind.exact_positions import CallLevel as CallLevel
from undwarf.unwind.exact_positions import Position as Position
