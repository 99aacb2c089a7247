"""Names of run-time compiled functions, from the maps that run times write to /tmp/perf-PID.map."""

from collections import OrderedDict
from collections.abc import Collection, Iterable

from undwarf.images.finder import Finder
from undwarf.limits import Limits
from undwarf.symbols.perfmap import read_map, state_of_map

MOST_MAPS = 64
"""Processes whose functions are remembered."""
MOST_BYTES = 32 << 20
"""Bytes of a map that is read."""


class JitNames:
    """Functions of maps that contain sampled addresses. A map is read again if it has grown and an address is new."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._limits = Limits(text_map_bytes=MOST_BYTES)
        self._known: OrderedDict[int, tuple[object, dict[int, tuple[int, int, str]]]] = OrderedDict()

    def lines(self, pid: int, addresses: Collection[int]) -> str:
        """Those lines of the process's map whose functions contain ``addresses``; empty without a map."""
        state = state_of_map(self._finder, pid)
        before, found = self._known.pop(pid, (None, {}))
        if state is None:
            return ""
        if state != before:
            if before is not None and isinstance(before, tuple) and before[0] != state[0]:
                found = {}
            table = read_map(self._finder, pid, self._limits)
            for address in addresses if table is not None else ():
                assert table is not None
                symbol = table.find(address)
                if symbol is not None:
                    start, end = table.extent(symbol)
                    name = table.names_at(symbol)[0].decode("utf-8", "replace")
                    found[address] = (start, end - start, name)
        self._known[pid] = state, found
        while len(self._known) > MOST_MAPS:
            self._known.popitem(last=False)
        return lines_of(found[address] for address in addresses if address in found)


def lines_of(functions: Iterable[tuple[int, int, str]]) -> str:
    """Lines of a perf map of (start, size, name)."""
    lines = sorted(set(functions))
    return "".join(f"{start:x} {size:x} {name.replace(chr(10), '?')}\n" for start, size, name in lines)
