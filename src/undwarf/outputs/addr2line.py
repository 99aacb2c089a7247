"""Addresses as addr2line prints them: function, file and line, for each inlined function a pair."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from undwarf.outputs.escape import printable
from undwarf.symbols.addresses import NONE, Located

UNKNOWN = "??"


@dataclass(frozen=True, slots=True)
class Addr2lineOptions:
    """As GNU addr2line's options of these names; ``base_names`` is its ``-s``."""

    functions: bool = False
    inlines: bool = False
    addresses: bool = False
    pretty: bool = False
    base_names: bool = False
    digits: int = 16


class Addr2line:
    """Renders addresses that were looked up. Names and places are put together once for each that occurs."""

    def __init__(self, options: Addr2lineOptions) -> None:
        self._options = options
        self._places: dict[tuple[str, int], str] = {}

    def text(self, addresses: Sequence[int], found: Located) -> str:
        """The lines for some addresses."""
        options = self._options
        chains = found.chains
        first, name, file, line = (
            chains.first.tolist(),
            chains.name.tolist(),
            chains.file.tolist(),
            chains.line.tolist(),
        )
        names = [*map(printable, chains.names)]
        files = [*chains.files]
        known: dict[tuple[int, int], str] = {}
        functions, pretty = options.functions, options.pretty
        out: list[str] = []
        for i, address in enumerate(addresses):
            begin, end = first[i], first[i + 1]
            head = f"0x{address:0{options.digits}x}" if options.addresses else ""
            if head and not pretty:
                out.append(head)
            pairs: list[tuple[str, str]] = []
            for k in range(begin, end if options.inlines else min(end, begin + 1)):
                key = (file[k], line[k])
                place = known.get(key)
                if place is None:
                    place = known[key] = self._place(files[file[k]] if file[k] != NONE else "", line[k])
                label = ""
                if functions:
                    label = names[name[k]] if name[k] != NONE else ""
                    if k == end - 1:
                        # The symbol is what the code is called; debugging information may name what it was made of.
                        label = printable(found.symbols[i]) or label
                pairs.append((label or UNKNOWN, place))
            if not pairs:
                pairs.append((printable(found.symbols[i]) or UNKNOWN, f"{UNKNOWN}:0"))
            if pretty:
                shown = [f"{label} at {place}" if functions else place for label, place in pairs]
                out.append((head + ": " if head else "") + shown[0])
                out += [f" (inlined by) {text}" for text in shown[1:]]
            elif functions:
                for pair in pairs:
                    out += pair
            else:
                out += [place for _label, place in pairs]
        out.append("")
        return "\n".join(out)

    def _place(self, file: str, line: int) -> str:
        if not file:
            return f"{UNKNOWN}:0"
        shown = printable(file.rpartition("/")[2] or file if self._options.base_names else file)
        return f"{shown}:{line or '?'}"

    def json(self, addresses: Sequence[int], found: Located) -> str:
        """One line of JSON for each address: its ``address`` (hexadecimal), ``symbol``, and ``frames``, innermost first,
        each with ``function``, ``file``, ``line``, ``column`` and whether it is ``inlined``; null for the unknown."""
        lines = []
        for i, address in enumerate(addresses):
            chain = found.chains.chain(i)
            frames: list[dict[str, Any]] = []
            for k, (name, file, line, column) in enumerate(chain):
                last = k == len(chain) - 1
                frames.append({
                    "function": (found.symbols[i] if last else "") or name or None,
                    "file": file or None,
                    "line": line or None,
                    "column": column or None,
                    "inlined": not last,
                })  # fmt: skip
            lines.append(json.dumps({"address": hex(address), "symbol": found.symbols[i] or None, "frames": frames}))
        lines.append("")
        return "\n".join(lines)
