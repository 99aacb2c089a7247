"""undwarf/tables/little_endian.pxd"""

from typing import Any

def number(base: Any, at: int, size: int) -> int: ...
