"""Sends recordings to an OpenTelemetry collector, each from a process of its own: naming frames needs memory.

Source: the OTLP specification (https://opentelemetry.io/docs/specs/otlp/#otlphttp). An export request has the fields of
a ``ProfilesData`` message, which ``undwarf export --format otlp`` writes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from undwarf.agent.metrics import Metrics
from undwarf.agent.spool import Spool

MOST_S = 120.0
"""Seconds for naming and sending a recording."""
NICENESS = 10
HEADERS = "UNDWARF_OTLP_HEADERS"
"""Variable of the environment with headers as JSON: a command line could be read by other users."""


class Otlp:
    """Sends each recording to ``address``."""

    def __init__(self, address: str, headers: Mapping[str, str], metrics: Metrics, say: Callable[[str], None]) -> None:
        self._address = address
        self._headers = json.dumps(dict(headers))
        self._metrics = metrics
        self._say = say
        self._failing = False

    def __call__(self, spool: Spool, name: str) -> None:
        """Send a recording; one that the collector does not take is counted."""
        command = [sys.executable, "-m", "undwarf.agent.otlp", self._address, str(spool.files(name)[0])]
        environment = {**os.environ, HEADERS: self._headers}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=MOST_S, check=False)
            why = done.stderr.strip().rpartition("\n")[2] if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        self._metrics.otlp_failures += bool(why)
        self._metrics.otlp_sent += not why
        if bool(why) != self._failing:
            self._failing = bool(why)
            self._say(f"the collector does not take profiles: {why}" if why else "the collector takes profiles again")


def send(address: str, recording: str, headers: Mapping[str, str]) -> str:
    """Name the frames of a recording and send it; why that failed, else empty."""
    import httpx

    os.nice(NICENESS)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "profiles"
        command = [sys.executable, "-m", "undwarf", "export", "--format", "otlp", "-o", str(target), recording]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().rpartition("\n")[2] or f"export ended with {done.returncode}"
        try:
            content = {"content-type": "application/x-protobuf"}
            answer = httpx.post(address, content=target.read_bytes(), headers={**headers, **content}, timeout=30.0)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"
    return "" if answer.is_success else f"HTTP {answer.status_code}"


if __name__ == "__main__":
    sys.exit(send(sys.argv[1], sys.argv[2], json.loads(os.environ.get(HEADERS, "{}"))) or 0)
