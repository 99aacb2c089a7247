"""Files of processes that still run and see another file system than we do: containers, through /proc/PID/root."""

import os
from collections.abc import Callable, Iterable

MAX_ROOTS = 64
"""File systems that are looked into."""
MAX_PIDS = 20_000
"""Processes that are looked at."""


class Containers:
    """The roots of the recording's processes that still run in another mount namespace than ours.

    ``pids`` gives the processes when they are first needed. A process may have got the number of an older one, so
    only a file that proves itself by its build-id may be taken from there.
    """

    def __init__(self, pids: Callable[[], Iterable[int]], proc: str = "/proc") -> None:
        self._pids = pids
        self._proc = proc
        self._roots: list[str] | None = None

    def roots(self) -> list[str]:
        """One root for each foreign mount namespace, as a path to look below."""
        if self._roots is None:
            self._roots = self._find()
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
            if len(found) == MAX_ROOTS:
                break
        return found

    def _namespace(self, pid: str) -> str:
        try:
            return os.readlink(f"{self._proc}/{pid}/ns/mnt")
        except OSError:
            return ""


def inner_pid(pid: int, proc: str = "/proc") -> int:
    """A running process's number in its own pid namespace (its ``NSpid``); ``pid`` where that cannot be told."""
    try:
        with open(f"{proc}/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except (OSError, ValueError, IndexError):
        pass
    return pid
