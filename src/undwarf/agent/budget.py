"""How often to sample, so that the agent's own CPU time stays within its budget."""

from collections import deque
from dataclasses import dataclass, field

WINDOW_S = 300.0
"""Own CPU time is judged over the last minutes: a new large program costs a second once, and is no reason."""
CALM_S = 900.0
"""How long the cost must have been low before the frequency is raised: twice as long after each time that it had to be
lowered again."""
MOST_CALM_S = 4 * 3600.0
LOW = 0.4
"""Share of the budget below which twice the frequency fits."""


@dataclass(slots=True)
class Budget:
    """Chooses one of ``steps`` frequencies (0: the configured one, each further one lower) from own CPU time."""

    percent: float
    steps: int
    step: int = 0
    used: float = 0.0
    """Percent of one CPU over the last minutes."""
    _calm: float = CALM_S
    _raised: bool = False
    """Whether the last change was to a higher frequency."""
    _since: float | None = None
    """From when on the present frequency has been used."""
    _seen: deque[tuple[float, float]] = field(default_factory=deque)

    def update(self, now: float, cpu: float) -> int:
        """The step for now (seconds of a steady clock), when ``cpu`` seconds were used so far."""
        seen = self._seen
        seen.append((now, cpu))
        while len(seen) > 2 and seen[1][0] <= now - WINDOW_S:
            seen.popleft()
        self._since = now if self._since is None else self._since
        elapsed = now - seen[0][0]
        self.used = 100 * (cpu - seen[0][1]) / elapsed if elapsed > 0 else 0.0
        if elapsed < WINDOW_S or now - self._since < WINDOW_S:
            return self.step
        if self.used > self.percent and self.step < self.steps - 1:
            if self._raised:
                self._raised, self._calm = False, min(2 * self._calm, MOST_CALM_S)
            self._change(1, now)
        elif self.step and self.used < LOW * self.percent and now - self._since >= self._calm:
            self._raised = True
            self._change(-1, now)
        return self.step

    def _change(self, by: int, now: float) -> None:
        self.step += by
        self._since = now
        # What was used at another frequency says nothing about this one.
        last = self._seen[-1]
        self._seen.clear()
        self._seen.append(last)
