"""Function, file and line of addresses, in the format of GNU addr2line or as JSON."""

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from undwarf.outputs.json_lines import line_of
from undwarf.outputs.json_values import address, known
from undwarf.outputs.kernels.addr2line_text import Addr2lineText
from undwarf.outputs.terminal.escape import pack
from undwarf.symbols.address_lookup import Located

if TYPE_CHECKING:
    from undwarf.outputs.schemas.addr2line import Address


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
    """Write one line of JSON for each address."""
    for i, number in enumerate(located.addresses):
        symbol = located.symbols[located.symbol_of[i]]
        chain = located.chains.chain(i)
        row: Address = {
            "schema": "undwarf/addr2line",
            "version": 1,
            "address": address(number),
            "sym": known(symbol),
            "frames": [
                {
                    "sym": known((symbol if k == len(chain) - 1 else "") or name),
                    "file": known(file),
                    "line": line or None,
                    "column": column or None,
                    "inlined": k < len(chain) - 1,
                }
                for k, (name, file, line, column) in enumerate(chain)
            ],
        }
        sink.write(line_of(row))
