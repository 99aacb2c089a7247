"""Network namespaces that reach each other and nothing else, and programs in them."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_PREFIX = "undwarf-test-"


def why_not() -> str:
    """Why namespaces cannot be made here; empty if they can."""
    if not shutil.which("ip"):
        return "ip is not installed"
    name = f"{_PREFIX}{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        return f"network namespaces cannot be made: {made.stderr.strip()}"
    bridge = subprocess.run(["ip", "-n", name, "link", "add", "hub", "type", "bridge"], capture_output=True, text=True)
    _ip("netns", "del", name)
    return f"bridges cannot be made: {bridge.stderr.strip()}" if bridge.returncode else ""


class Network:
    """Hosts by name, each a namespace with an address of its own; their bridge is in one more."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._start = f"{_PREFIX}{os.getpid()}-"
        self.addresses = {host: f"10.77.0.{number}" for number, host in enumerate(hosts, 1)}

    def make(self) -> None:
        """Make the namespaces."""
        hub = self._start + "hub"
        _ip("netns", "add", hub)
        _ip("-n", hub, "link", "add", "hub", "type", "bridge")
        _ip("-n", hub, "link", "set", "hub", "up")
        for number, (host, address) in enumerate(self.addresses.items()):
            name = self._start + host
            _ip("netns", "add", name)
            _ip("-n", hub, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", hub, "link", "set", f"port{number}", "master", "hub", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def command(self, host: str, *command: str) -> list[str]:
        """The command that runs another one on a host, as the same process."""
        return ["ip", "netns", "exec", self._start + host, *command]

    def started(self, host: str, *command: str, **options: Any) -> "subprocess.Popen[bytes]":
        """A process on a host."""
        return subprocess.Popen(self.command(host, *command), **options)

    def close(self) -> None:
        """Remove the namespaces."""
        for host in (*self.addresses, "hub"):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", self._start + host)


@contextlib.contextmanager
def network(hosts: Sequence[str]) -> Iterator[Network]:
    """A network, which is gone afterwards."""
    for path in Path("/run/netns").glob(f"{_PREFIX}*"):
        # Of a run that was killed.
        if not Path(f"/proc/{path.name.removeprefix(_PREFIX).partition('-')[0]}").exists():
            _ip("netns", "del", path.name)
    made = Network(hosts)
    try:
        made.make()
        yield made
    finally:
        made.close()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
