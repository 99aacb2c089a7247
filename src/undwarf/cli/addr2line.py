"""``undwarf addr2line``"""

import os
import sys
from collections.abc import Iterator

import click

from undwarf.errors import UsageError

CHUNK = 1 << 20
"""Bytes of standard input that are read at once."""


@click.command(
    "addr2line",
    epilog="""\b
Examples:
  undwarf addr2line -e ./program -f -i -C 0x1234 0x5678
  undwarf addr2line -e libfoo.so -f -i -p < addresses.txt
  undwarf addr2line -e ./program --json 4011d6 | jq .frames""",
)
@click.argument("addresses", nargs=-1, metavar="[ADDR]...")
@click.option("-e", "--exe", "path", default="a.out", show_default=True, metavar="ELF", help="The binary.")
@click.option("-f", "--functions", is_flag=True, help="Print function names.")
@click.option("-i", "--inlines", is_flag=True, help="Also print the functions it was inlined into.")
@click.option("-C", "--demangle", is_flag=True, help="Demangle names.")
@click.option("-a", "--addresses", "show_addresses", is_flag=True, help="Print each address first.")
@click.option("-p", "--pretty-print", "pretty", is_flag=True, help="One line for each function.")
@click.option("-s", "--basenames", is_flag=True, help="Print file names without directories.")
@click.option("--debug-dir", "debug_dirs", metavar="DIR", multiple=True, help="Another directory with debug files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per address.")
def command(
    addresses: tuple[str, ...],
    path: str,
    functions: bool,
    inlines: bool,
    demangle: bool,
    show_addresses: bool,
    pretty: bool,
    basenames: bool,
    debug_dirs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the function, file and line of addresses in a binary.

    Addresses are hexadecimal addresses of the ELF file; without arguments they are read from standard input.
    """
    from undwarf.defects import Defects
    from undwarf.images import Finder
    from undwarf.outputs.addr2line import Addr2lineOptions, write, write_json
    from undwarf.symbols.address_lookup import Addresses

    defects = Defects()
    finder = Finder(debug_dirs=(*debug_dirs, "/usr/lib/debug"), defects=defects)
    table = Addresses(path, demangle=demangle, finder=finder, defects=defects)
    options = Addr2lineOptions(functions, inlines, show_addresses, pretty, basenames, table.digits)
    sink = sys.stdout.buffer
    for text in [" ".join(addresses).encode()] if addresses else batches():
        located = table.locate(parse(text))
        if as_json:
            write_json(located, sink)
        else:
            write(located, sink, options)
        sink.flush()
    for defect in defects:
        from undwarf.cli.common import notify

        notify("warning", str(defect))


def parse(text: bytes) -> memoryview:
    """Hexadecimal addresses as a column (Q). Raises UsageError for a word that is none."""
    from undwarf.outputs.kernels.addr2line_text import parse_addresses

    addresses = parse_addresses(text)
    if isinstance(addresses, memoryview):
        return addresses
    bad = addresses[:40].decode("utf-8", "replace")
    raise UsageError(f"{bad!r} is not an address", "", "addresses are hexadecimal, at most 64 bits, with or without 0x")


def batches() -> Iterator[bytes]:
    """Complete lines of standard input as they arrive: a program that writes one line at a time gets its answer."""
    rest = b""
    while piece := os.read(sys.stdin.fileno(), CHUNK):
        rest += piece
        whole, newline, rest = rest.rpartition(b"\n")
        if newline:
            yield whole
    if rest:
        yield rest
