"""Ships to an fsspec address from a process that runs for the time of a shipment only.

The libraries of object stores take 60 MB and a third of a second of CPU time to start (s3fs 2026.9): too much to keep,
and too much for each minute, so recordings are shipped together (``RemoteStore.pause``). The process reads lines of
JSON, first the address, then [name, path] of each file, and answers each with a line: why it failed, or nothing.
"""

import json
import os
import selectors
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from undwarf.agent.store import FsspecStore, fsspec_store
from undwarf.errors import UndwarfError

SHIPMENT_S = 300.0
"""Seconds between two shipments."""
MOST_S = 120.0
"""Seconds that a file may take."""
NICENESS = 10


class RemoteStore:
    """A file system of fsspec at ``address``."""

    pause = SHIPMENT_S

    def __init__(self, address: str) -> None:
        self._address = address
        self._process: subprocess.Popen[bytes] | None = None

    def put(self, name: str, source: Path) -> None:
        try:
            why = self._ask([name, str(source)])
        except (OSError, ValueError) as error:
            self.rest()
            raise UndwarfError("the store failed", f"its process ended ({error})", "") from error
        if why:
            raise UndwarfError("the store failed", why, "")

    def check(self) -> None:
        fsspec_store(self._address).check()

    def rest(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(MOST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _ask(self, question: list[str]) -> str:
        if self._process is None:
            command = [sys.executable, "-m", "undwarf.agent.remote_store"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
            # Not as an argument: an address may have a password, and command lines are public.
            self._send(self._address)
        self._send(question)
        process = self._process
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(MOST_S):
                process.kill()
                raise OSError(f"no answer in {MOST_S:.0f} s")
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            raise OSError("no answer")
        return str(json.loads(line))

    def _send(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")


def _serve() -> None:
    os.nice(NICENESS)
    # What a library prints is no answer.
    answers = os.dup(1)
    os.dup2(2, 1)
    store: FsspecStore | None = None
    address = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        name, path = json.loads(line)
        why = ""
        try:
            store = store or fsspec_store(address)
            store.put(name, Path(path))
        except (OSError, UndwarfError) as error:
            why = str(error) or type(error).__name__
        os.write(answers, json.dumps(why).encode() + b"\n")


if __name__ == "__main__":
    _serve()
