"""The pager: long output on a terminal, page by page.

It starts with the first bytes that the output's buffer cannot hold, or at the end: progress is shown before, and a
command without output starts none. What goes to standard error meanwhile would be written over its page, and is printed
when it ends.
"""

import contextlib
import io
import os
import signal
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

DEFAULT = "less -FRX"
"""``-F``: what fits on the screen is printed as without a pager; ``-R``: colours; ``-X``: it stays there afterwards."""
LESS = "FRX"
"""``LESS`` for the command ``less`` without options of the user's, as git sets it."""
_SHELL = frozenset("|&;<>()$`\\\"'*?[#~=%\n")
"""Characters for which a command needs a shell."""
BUFFER = 1 << 16


def pager_command(configured: str | bool | None) -> tuple[str, bool]:
    """(the command, whether the user chose it): ``$UNDWARF_PAGER``, the configured one, ``$PAGER``, or less. The
    command is empty if there shall be none, which ``cat`` means too."""
    chosen = os.environ.get("UNDWARF_PAGER")
    if chosen is None:
        if configured is False:
            return "", True
        chosen = configured if isinstance(configured, str) else os.environ.get("PAGER")
    if chosen is None:
        return ("" if os.environ.get("TERM", "dumb") == "dumb" else DEFAULT), False
    return ("" if chosen.strip() in ("", "cat") else chosen), True


class _Pipe(io.RawIOBase):
    """Bytes for the pager, which starts with the first of them; for the terminal if it cannot start."""

    def __init__(self, command: str, chosen: bool, terminal: IO[str]) -> None:
        super().__init__()
        self._command = command
        self._chosen = chosen
        self._terminal = terminal
        self._number = -1
        self._left = False
        self._process: subprocess.Popen[bytes] | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        if self._number < 0:
            self._start()
        return self._number

    def write(self, data: Any) -> int:
        if self._left:
            return len(data)
        try:
            return os.write(self.fileno(), data)
        except BrokenPipeError:
            self._left = True
            raise

    def drop(self) -> None:
        """Write nothing more."""
        self._left = True

    def _start(self) -> None:
        # Only output on terminals needs it.
        import subprocess

        shell = not _SHELL.isdisjoint(self._command)
        words = ["/bin/sh", "-c", self._command] if shell else self._command.split()
        environment = {"LESS": LESS, "LV": "-c", **os.environ}
        try:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
        except OSError as error:
            if self._chosen:
                from undwarf.cli.common import notify

                notify("note", f"no pager: {words[0]}: {error.strerror}")
            self._number = self._terminal.fileno()
            return
        assert self._process.stdin is not None
        self._number = self._process.stdin.fileno()
        self._errors = sys.stderr
        sys.stderr = self._held = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)

    def finish(self) -> None:
        """Close the pipe, wait until the user has left the pager, and print what was held back."""
        self.drop()
        if self._process is None:
            return
        assert self._process.stdin is not None
        # It ends when the user wants; an interrupt is for it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        sys.stderr = self._errors
        self._held.seek(0)
        sys.stderr.write(self._held.read())
        sys.stderr.flush()


class _Pages(io.TextIOWrapper):
    """Standard output that a terminal shows, by way of the pager."""

    def isatty(self) -> bool:
        return True


class Pager:
    """Standard output goes to the pager within ``with``."""

    def __init__(self, configured: str | bool | None = None) -> None:
        self._command, self._chosen = pager_command(configured)
        self._pipe: _Pipe | None = None

    def __enter__(self) -> "Pager":
        terminal = sys.stdout
        if self._command and terminal is not None and terminal.isatty():
            self._terminal = terminal
            self._pipe = _Pipe(self._command, self._chosen, terminal)
            buffer = io.BufferedWriter(self._pipe, BUFFER)
            sys.stdout = _Pages(buffer, terminal.encoding, terminal.errors, write_through=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_details: object) -> None:
        if self._pipe is None:
            return
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            # The rest would wait until the user pages on.
            self._pipe.drop()
        pages = sys.stdout
        try:
            # Who leaves the pager early wants no more.
            with contextlib.suppress(BrokenPipeError):
                pages.flush()
        finally:
            sys.stdout = self._terminal
            self._pipe.finish()
