"""sys/mman.h"""

from typing import Any

MADV_DONTNEED: int
MADV_HUGEPAGE: int
MAP_ANONYMOUS: int
MAP_FAILED: Any
MAP_FIXED: int
MAP_PRIVATE: int
PROT_EXEC: int
PROT_READ: int
PROT_WRITE: int

def madvise(address: Any, size: int, advice: int) -> int: ...
def mmap(address: Any, size: int, protection: int, flags: int, file: int, offset: int) -> Any: ...
