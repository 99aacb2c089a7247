"""undwarf/dwarf/leb128.pxd"""

from typing import Any

def leb128(data: Any, at: Any, end: int, signed: bool) -> int: ...
