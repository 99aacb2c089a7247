"""Files of running processes in other mount namespaces (containers), through /proc/PID/root."""

import os
import time
from collections.abc import Callable, Iterable

MAX_ROOTS = 64
"""Maximum mount namespaces that are searched."""
MAX_PIDS = 20_000
"""Maximum processes that are checked."""


class Containers:
    """The roots of the recording's processes that still run in other mount namespaces.

    ``pids`` is called when the processes are first needed, and again ``lasts`` seconds later, for at most ``most``
    roots. A pid may have been reused, so files from there must be verified by their build-id or inode.
    """

    def __init__(
        self,
        pids: Callable[[], Iterable[int]],
        proc: str = "/proc",
        lasts: float = float("inf"),
        most: int = MAX_ROOTS,
    ) -> None:
        self._pids = pids
        self._proc = proc
        self._lasts = lasts
        self._most = most
        self._found = 0.0
        self._roots: list[str] | None = None

    def roots(self) -> list[str]:
        """One root path for each foreign mount namespace."""
        if self._roots is None or time.monotonic() - self._found > self._lasts:
            self._roots, self._found = self._find(), time.monotonic()
        return self._roots

    def _find(self) -> list[str]:
        seen = {self._namespace("self")}
        found = []
        for _, pid in zip(range(MAX_PIDS), self._pids(), strict=False):
            namespace = self._namespace(str(pid))
            if not namespace or namespace in seen:
                continue
            seen.add(namespace)
            found.append(f"{self._proc}/{pid}/root")
            if len(found) == self._most:
                break
        return found

    def _namespace(self, pid: str) -> str:
        try:
            return os.readlink(f"{self._proc}/{pid}/ns/mnt")
        except OSError:
            return ""


def inner_pid(pid: int, proc: str = "/proc") -> int:
    """A running process's pid in its own pid namespace (``NSpid``); ``pid`` if that is unknown."""
    try:
        with open(f"{proc}/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except (OSError, ValueError, IndexError):
        pass
    return pid
