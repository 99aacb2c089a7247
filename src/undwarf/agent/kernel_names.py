"""Names of the kernel's functions, small enough to be kept: only code, as sorted columns."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from undwarf.live.system_snapshot import read_proc

KALLSYMS = Path("/proc/kallsyms")
_CODE = re.compile(rb"^([0-9a-f]{8,16}) [tTwW] ([^\n]+)\n", re.MULTILINE)
PIECE = 1 << 18
"""Bytes of the file that are read at once."""
MOST_FUNCTIONS = 1 << 19


class KernelNames:
    """The functions of the running kernel and its modules, read again when modules change."""

    def __init__(self, path: Path = KALLSYMS) -> None:
        self._path = path
        self._addresses = array("Q")
        self._places = array("I")
        self._text = b""
        self._modules: bytes | None = None

    def lines(self, addresses: Iterable[int]) -> str:
        """Those lines of /proc/kallsyms, by address, whose functions contain ``addresses``; empty if the kernel hides
        its addresses."""
        wanted = sorted(set(addresses))
        if not wanted:
            return ""
        self._refresh()
        found = set()
        for address in wanted:
            number = bisect_right(self._addresses, address) - 1
            # All names of the function: which one is shown is the reader's choice.
            start = self._addresses[number] if number >= 0 else 0
            while number >= 0 and self._addresses[number] == start:
                found.add(number)
                number -= 1
        return "".join(map(self._line, sorted(found)))

    def _line(self, number: int) -> str:
        at = self._places[number]
        name = self._text[at : self._text.index(b"\n", at)].decode("utf-8", "replace")
        return f"{self._addresses[number]:016x} T {name}\n"

    def _refresh(self) -> None:
        modules = b"\n".join(b" ".join(line.split()[::5]) for line in read_proc("/proc/modules").splitlines())
        if modules == self._modules:
            return
        self._modules = modules
        addresses, places, text = array("Q"), array("I"), bytearray()
        rest = b""
        try:
            with self._path.open("rb", buffering=0) as file:
                while len(addresses) < MOST_FUNCTIONS and (piece := file.read(PIECE)):
                    rest += piece
                    end = rest.rfind(b"\n") + 1
                    for line in _CODE.finditer(rest[:end]):
                        address = int(line[1], 16)
                        # Zero: the kernel hides it.
                        if address:
                            addresses.append(address)
                            places.append(len(text))
                            text += line[2] + b"\n"
                    rest = rest[end:]
        except OSError:
            # Without names the addresses are shown.
            addresses, places = array("Q"), array("I")
        # Those of modules come after the kernel's, in the order of the modules.
        order = sorted(range(len(addresses)), key=addresses.__getitem__)
        self._addresses = array("Q", map(addresses.__getitem__, order))
        self._places = array("I", map(places.__getitem__, order))
        self._text = bytes(text)
