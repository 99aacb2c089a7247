"""The vdso of this process, which is also that of recordings of the same kernel."""

from functools import lru_cache

MAX_BYTES = 1 << 20


@lru_cache(maxsize=1)
def own_vdso() -> bytes:
    """The bytes of this process's vdso; empty if it cannot be read."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                if line.rstrip().endswith("[vdso]"):
                    start, end = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
                    break
            else:
                return b""
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            return memory.read(min(end - start, MAX_BYTES))
    except (OSError, ValueError, OverflowError):
        return b""
