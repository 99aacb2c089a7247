"""Chooses between full and small stack dumps while sampling, by how full the ring buffers get.

A dump takes its whole size in the buffer, however short the stack is. The size is fixed when an event is opened, so
each event is opened twice, and one of the two is enabled.
"""

from dataclasses import dataclass

SHRINK_FILL = 0.75
"""Used share of a buffer from which dumps are small."""
GROW_FILL = 0.5
"""Used share below which the buffers must stay before dumps are full. Rounds start at 0.25 (the watermark)."""
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 60.0
"""Seconds for which they must: at first, and at most. The time doubles each time."""


@dataclass(slots=True)
class DumpSize:
    """Whether dumps are small, and for how many seconds they were, up to the last change."""

    small: bool
    seconds: float = 0.0
    _changed: float = 0.0
    _too_full: float = 0.0
    _wait: float = FIRST_WAIT_S

    def update(self, fill: float, now: float) -> bool:
        """Whether the size changes, if the fullest buffer was used to the share ``fill`` (0 to 1) at the time
        ``now``."""
        self._changed = self._changed or now
        if self.small:
            if fill > GROW_FILL or not self._too_full:
                self._too_full = now
            if now - self._too_full < self._wait:
                return False
            self._wait = min(2 * self._wait, MAX_WAIT_S)
        elif fill < SHRINK_FILL:
            return False
        self.finish(now)
        self.small = not self.small
        self._too_full = now
        return True

    def finish(self, now: float) -> None:
        """Count the time up to now."""
        self.seconds += (now - self._changed) * self.small
        self._changed = now
