"""What ``undwarf record`` shows on a terminal while it records."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from undwarf.live.record.run import Recorder

AGAIN = 0.5
"""Seconds after which the line is written anew."""
MOMENTS = (2, 5, 10, 20, 30, 60)
"""Seconds after which a line is written where a program may write to the terminal too; then each 60."""


class Progress:
    """A line on standard error: how long, how many samples, how many bytes.

    ``shared``: the recorded program has the same terminal, so that its output stands between ours: whole lines, and few
    of them. Nothing is written with ``quiet``, or where standard error is no terminal.
    """

    def __init__(
        self, quiet: bool, shared: bool, clock: Callable[[], float] = time.monotonic, width: int | None = None
    ) -> None:
        self.recorder: Recorder | None = None
        self._active = not quiet and sys.stderr.isatty()
        self._shared = shared
        self._clock = clock
        self._width = width
        self._began = clock()
        self._next = self._began + (MOMENTS[0] if shared else AGAIN)
        self._shown = False

    def tick(self) -> None:
        """Write the line, if it is time to."""
        now = self._clock()
        if not self._active or self.recorder is None or now < self._next:
            return
        text = self._text(now - self._began)
        if self._shared:
            passed = now - self._began
            later = next((moment for moment in MOMENTS if moment > passed), 60 * (passed // 60 + 1))
            self._next = self._began + later
            sys.stderr.write(text + "\n")
        else:
            self._next = now + AGAIN
            sys.stderr.write(f"\r{text[: self._columns() - 1]}\x1b[K")
            self._shown = True
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, before something else is written."""
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
