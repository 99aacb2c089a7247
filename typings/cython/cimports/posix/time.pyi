"""time.h"""

from typing import Any

CLOCK_MONOTONIC: int

class timespec:
    tv_sec: int
    tv_nsec: int

def clock_gettime(clock: int, time: Any) -> int: ...
def nanosleep(time: Any, left: Any) -> int: ...
