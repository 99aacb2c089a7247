"""sys/mman.h"""

from typing import Any

MADV_HUGEPAGE: int

def madvise(address: Any, size: int, advice: int) -> int: ...
