"""undwarf/arena_allocator.pxd"""

from typing import Any

class PyObjectArenaAllocator:
    ctx: Any
    alloc: Any
    free: Any

def PyObject_GetArenaAllocator(allocator: Any) -> None: ...
def PyObject_SetArenaAllocator(allocator: Any) -> None: ...
