"""The progress line of ``undwarf record``."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from undwarf.live.record.run import Recorder

INTERVAL = 0.5
"""Seconds between updates of the line."""
MOMENTS = (2, 5, 10, 20, 30, 60)
"""Seconds after which a line is written if the program uses the terminal too; then every 60."""


class Progress:
    """A line on standard error: duration, samples and bytes so far.

    ``shared``: the recorded program writes to the same terminal: new lines are written, and few of them. Nothing is
    written with ``quiet``, or if standard error is no terminal.
    """

    def __init__(
        self, quiet: bool, shared: bool, clock: Callable[[], float] = time.monotonic, width: int | None = None
    ) -> None:
        self.recorder: Recorder | None = None
        self._active = not quiet and sys.stderr.isatty()
        self._shared = shared
        self._clock = clock
        self._width = width
        self._start = clock()
        self._next = self._start + (MOMENTS[0] if shared else INTERVAL)
        self._shown = False

    def tick(self) -> None:
        """Write the line, if it is due."""
        now = self._clock()
        if not self._active or self.recorder is None or now < self._next:
            return
        text = self._text(now - self._start)
        if self._shared:
            elapsed = now - self._start
            due = next((moment for moment in MOMENTS if moment > elapsed), 60 * (elapsed // 60 + 1))
            self._next = self._start + due
            sys.stderr.write(text + "\n")
        else:
            self._next = now + INTERVAL
            sys.stderr.write(f"\r{text[: self._columns() - 1]}\x1b[K")
            self._shown = True
        sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line, before something else is written."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

    def _columns(self) -> int:
        try:
            return self._width or os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _text(self, seconds: float) -> str:
        assert self.recorder is not None
        lost = self.recorder.lost
        parts = [
            f"recording for {seconds:.0f} s",
            f"{self.recorder.samples:,} samples",
            *([f"{lost:,} lost"] if lost else []),
            f"{self.recorder.writer.written / 1e6:,.2f} MB",
        ]
        return ", ".join(parts) + ("" if self._shared else "; Ctrl-C ends it")
