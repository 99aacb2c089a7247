"""stdlib.h"""

from typing import Any

def calloc(count: int, size: int) -> Any: ...
