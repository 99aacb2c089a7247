"""undwarf/dwarf/fixed_size_integers.pxd"""

from typing import Any

def fixed(data: Any, at: int, size: int, big: bool) -> int: ...
