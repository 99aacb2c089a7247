"""Programs on a pseudo-terminal: what it shows, and keys that are pressed."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path


class Terminal:
    """A program that a pseudo-terminal of 24 lines and 100 columns controls."""

    def __init__(self, command: list[str], cwd: Path, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.last_settings: list[object] = []
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LESS")}
        env |= {"TERM": "xterm", **environment}
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, preexec_fn=_control_terminal
        )
        os.close(theirs)
        self.shown = b""

    def wait_for(self, text: bytes, seconds: float = 30) -> bool:
        """Whether the terminal shows this text in time."""
        self._read(time.monotonic() + seconds, text)
        return text in self.shown

    def press(self, keys: bytes) -> None:
        """Press these keys."""
        os.write(self._ours, keys)

    def settings(self) -> list[object]:
        """The settings of the terminal."""
        return list(termios.tcgetattr(self._ours))

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self._process.send_signal(number)

    def end(self, seconds: float = 30) -> int:
        """Read all that is shown until the program ends; its exit code."""
        self._read(time.monotonic() + seconds, None)
        self.last_settings = self.settings()
        os.close(self._ours)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            return self._process.wait()

    def _read(self, deadline: float, until: bytes | None) -> None:
        while (until is None or until not in self.shown) and (left := deadline - time.monotonic()) > 0:
            if not select.select([self._ours], [], [], left)[0]:
                return
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:
                # The last process on the terminal has closed it.
                return
            if not data:
                return
            self.shown += data


def _control_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
