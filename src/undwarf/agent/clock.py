"""The clocks of an agent, which tests may move."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """``wall``: seconds since 1970, which may jump in both directions; ``steady``: seconds that only grow; ``jitter``:
    a random share, 0 to 1."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
