"""Function, file and line of addresses, in the format of GNU addr2line or as JSON."""

import json
from typing import Any, BinaryIO, NamedTuple

from undwarf.outputs.kernels.addr2line_text import Addr2lineText
from undwarf.outputs.terminal.escape import pack
from undwarf.symbols.address_lookup import Located


class Addr2lineOptions(NamedTuple):
    """The options of GNU addr2line; ``base_names`` is ``-s``. ``digits``: of an address."""

    functions: bool = False
    inlines: bool = False
    addresses: bool = False
    pretty: bool = False
    base_names: bool = False
    digits: int = 16


def write(located: Located, sink: BinaryIO, options: Addr2lineOptions) -> None:
    """Write the lines of the addresses."""
    chains = located.chains
    files = [file.rpartition("/")[2] or file for file in chains.files] if options.base_names else chains.files
    mode = options.functions | options.inlines << 1 | options.addresses << 2 | options.pretty << 3
    text = Addr2lineText(mode, options.digits, pack(chains.names), pack(files), pack(located.symbols))
    while len(piece := text.render(located.addresses, located.symbol_of, chains)):
        sink.write(piece)


def write_json(located: Located, sink: BinaryIO) -> None:
    """Write one line of JSON for each address.

    It has ``address`` (hexadecimal), ``symbol``, and ``frames``, innermost first, each with ``function``, ``file``,
    ``line``, ``column`` and ``inlined``; null for unknown ones.
    """
    for i, address in enumerate(located.addresses):
        symbol = located.symbols[located.symbol_of[i]]
        chain = located.chains.chain(i)
        frames: list[dict[str, Any]] = [
            {
                "function": (symbol if k == len(chain) - 1 else "") or name or None,
                "file": file or None,
                "line": line or None,
                "column": column or None,
                "inlined": k < len(chain) - 1,
            }
            for k, (name, file, line, column) in enumerate(chain)
        ]
        row = {"address": hex(address), "symbol": symbol or None, "frames": frames}
        sink.write(json.dumps(row).encode() + b"\n")
