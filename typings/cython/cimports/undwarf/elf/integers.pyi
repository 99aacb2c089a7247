"""undwarf/elf/integers.pxd"""

from typing import Any

def integer_at(data: Any, at: int, size: int, big: bool) -> int: ...
