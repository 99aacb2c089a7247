"""Names of the kernel's functions: only code, as sorted columns in a file without a name, not in memory."""

import mmap
import re
import tempfile
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
    """The functions of the running kernel and its modules, read again when modules change. They are kept in ``folder``;
    in memory if that has no space."""

    def __init__(self, folder: Path, path: Path = KALLSYMS) -> None:
        self._folder = folder
        self._path = path
        self._data: mmap.mmap | bytes = b""
        self._count = 0
        self._modules: bytes | None = None

    def lines(self, addresses: Iterable[int]) -> str:
        """Those lines of /proc/kallsyms, by address, whose functions contain ``addresses``; empty if the kernel hides
        its addresses."""
        wanted = sorted(set(addresses))
        if not wanted:
            return ""
        self._refresh()
        with memoryview(self._data) as data:
            found = self._found(wanted, data)
        if isinstance(self._data, mmap.mmap):
            # They are needed once in a minute.
            self._data.madvise(mmap.MADV_DONTNEED)
        return found

    def _found(self, wanted: list[int], data: memoryview) -> str:
        known = data[: 8 * self._count].cast("Q")
        places = data[8 * self._count : 12 * self._count].cast("I")
        numbers = set()
        for address in wanted:
            number = bisect_right(known, address) - 1
            # All names of the function: which one is shown is the reader's choice.
            start = known[number] if number >= 0 else 0
            while number >= 0 and known[number] == start:
                numbers.add(number)
                number -= 1
        lines = []
        for number in sorted(numbers):
            at = 12 * self._count + places[number]
            name = self._data[at : self._data.find(b"\n", at)].decode("utf-8", "replace")
            lines.append(f"{known[number]:016x} T {name}\n")
        return "".join(lines)

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
        self._count = len(addresses)
        self._data = self._kept(*_sorted(addresses, places), text)

    def _kept(self, addresses: "array[int]", places: "array[int]", text: bytearray) -> mmap.mmap | bytes:
        if not addresses:
            return b""
        try:
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
                for part in (addresses, places, text):
                    view = memoryview(part).cast("B")
                    while len(view):
                        view = view[file.write(view) :]
                return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except OSError:
            return b"".join(map(bytes, (addresses, places, text)))


def _sorted(addresses: "array[int]", places: "array[int]") -> "tuple[array[int], array[int]]":
    """Both by address. The kernel's own come sorted; those of modules after them, in the order of the modules."""
    count = len(addresses)
    ordered = next((number for number in range(1, count) if addresses[number] < addresses[number - 1]), count)
    rest = sorted(range(ordered, count), key=addresses.__getitem__)
    if rest and addresses[rest[0]] < addresses[ordered - 1]:
        ordered, rest = 0, sorted(range(count), key=addresses.__getitem__)
    for column in (addresses, places):
        column[ordered:] = array(column.typecode, map(column.__getitem__, rest))
    return addresses, places
