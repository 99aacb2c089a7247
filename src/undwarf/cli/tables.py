"""``undwarf tables``"""

import sys
from typing import TYPE_CHECKING

import click

from undwarf.cli.common import SHOWN_DEFECTS, notify
from undwarf.errors import UsageError
from undwarf.tables.sources import NAMES

if TYPE_CHECKING:
    from undwarf.views.tables.dump import Binary

SOURCE = click.option(
    "--source",
    metavar="NAMES",
    default=None,
    help=f"Sources of rules: {', '.join(NAMES)}; several in order of preference, as in A,B. Default: cfi.",
)
PLACE = click.argument("place", metavar="[FUNCTION|ADDRESS|START-END]", required=False)


def _warn(binary: "Binary") -> None:
    """Print the defects of a file."""
    defects = list(binary.defects)
    for defect in defects[:SHOWN_DEFECTS]:
        notify("warning", str(defect))


@click.group("tables")
def command() -> None:
    """Print, measure, compare and convert unwind tables of a binary.

    \b
    Examples:
      undwarf tables dump /bin/ls 0x4000-0x5000
      undwarf tables sizes /usr/lib/x86_64-linux-gnu/libc.so.6
      undwarf tables verify ./program --source cfi --against sframe
      undwarf tables cache
      undwarf tables convert ./program --to sframe -o program.sframe
    """


@command.command()
@click.argument("elf", metavar="ELF")
@PLACE
@SOURCE
@click.option("--json", "as_json", is_flag=True, help="Print rows as JSON.")
def dump(elf: str, place: str | None, source: str | None, as_json: bool) -> None:
    """Print rules by address.

    \b
    Examples:
      undwarf tables dump /bin/ls
      undwarf tables dump /usr/lib/x86_64-linux-gnu/libc.so.6 qsort
      undwarf tables dump /boot/vmlinuz --source orc
      undwarf tables dump xfs.ko.xz xfs_iread_extents
      undwarf tables dump --source sframe --json ./program 0x1000-0x1400 | jq '.rows[0]'
    """
    from undwarf.outputs.tables.dump import write, write_json
    from undwarf.views.tables.dump import Binary, rows_of

    binary = Binary.open(elf)
    rows = rows_of(binary, source, place)
    if as_json:
        write_json(elf, rows, sys.stdout)
    else:
        write(binary, rows, sys.stdout)
    _warn(binary)


@command.command()
@click.argument("elf", metavar="ELF")
@SOURCE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sizes(elf: str, source: str | None, as_json: bool) -> None:
    """Print the number of rows and rules, and the bytes of each format.

    \b
    Examples:
      undwarf tables sizes /bin/ls
    """
    from undwarf.outputs.tables.sizes import write, write_json
    from undwarf.views.tables.dump import Binary
    from undwarf.views.tables.sizes import sizes_of

    binary = Binary.open(elf)
    measured = sizes_of(binary, source)
    if as_json:
        write_json(elf, measured, sys.stdout)
    else:
        write(measured, sys.stdout)
    _warn(binary)


@command.command()
@click.argument("elf", metavar="ELF")
@click.argument("place", metavar="[FUNCTION|ADDRESS|START-END]", required=False)
@click.option("--source", default="cfi", show_default=True, metavar="NAMES", help=f"First source: {', '.join(NAMES)}.")
@click.option("--against", required=True, metavar="NAMES", help="Second source.")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(0), help="Maximum number of disagreements to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def verify(elf: str, place: str | None, source: str, against: str, limit: int, as_json: bool) -> None:
    """Compare two sources at every instruction.

    Lists, with the instructions, where they disagree about the call frame address, the return address or a saved
    register. Addresses that only one of them describes are counted as missing, and listed last.

    \b
    Examples:
      undwarf tables verify ./program --source cfi --against sframe
      undwarf tables verify libcrypto.so --source eh-frame --against debug-frame --json
    """
    from undwarf.outputs.tables.verify import write, write_json
    from undwarf.views.tables.dump import Binary
    from undwarf.views.tables.verify import verify as compare

    binary = Binary.open(elf)
    shown = sys.maxsize if as_json else limit
    verdict = compare(binary, source, against, place=place, shown=shown)
    if as_json:
        write_json(elf, verdict, sys.stdout)
    else:
        write(verdict, sys.stdout)
    _warn(binary)


@command.command()
@click.argument("elf", metavar="ELF")
@SOURCE
@click.option("--to", "target", required=True, metavar="FORMAT", help="Format to write: sframe or orc.")
@click.option("--version", default=None, metavar="N", help="Version of the format; sframe: 3 (default) or 2.")
@click.option("-o", "--output", metavar="FILE", default=None, help="Write an ELF file with only the new sections.")
@click.option("--into", metavar="COPY", default=None, help="Write a copy of ELF with the new sections.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written and left out as JSON.")
def convert(
    elf: str, source: str | None, target: str, version: str | None, output: str | None, into: str | None, as_json: bool
) -> None:
    """Write a table in another format.

    Rules that the format cannot express are left out and counted. A copy gets the new sections in a loadable segment of
    their own; an existing section of the same name is replaced.

    \b
    Examples:
      undwarf tables convert ./program --to sframe -o program.sframe
      undwarf tables convert ./program --to orc --version 3 -o program.orc
      undwarf tables convert libc.so.6 --to sframe --version 2 --into libc-sframe.so.6
    """
    from undwarf.outputs.tables.elf import write_carrying, write_sections
    from undwarf.tables.writers import write, writer
    from undwarf.views.tables.dump import Binary, whole_table

    writer(target)
    if output is None and into is None:
        raise UsageError("no output given", "", "give -o FILE, or --into COPY")
    binary = Binary.open(elf)
    output_table = write(target, whole_table(binary, source), binary.elf, version)
    if output is not None:
        write_sections(binary.elf, output_table.sections, output)
    if into is not None:
        write_carrying(binary.elf, output_table.sections, into)
    if as_json:
        from undwarf.outputs.tables.convert import ConvertOptions, write_json

        write_json(output_table, sys.stdout, ConvertOptions(elf, target, output, into))
    else:
        size = sum(section.size for section in output_table.sections)
        notify("note", f"{output_table.functions:,} functions, {output_table.rows:,} rows, {size:,} bytes")
        for reason, count in sorted(output_table.left_out.items(), key=lambda pair: -pair[1]):
            notify("note", f"{count:,} rows left out: {reason}")
    _warn(binary)


@command.command()
@click.argument("elf", metavar="[ELF]...", nargs=-1)
@click.option("--clear", is_flag=True, help="Delete everything in the cache.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache(elf: tuple[str, ...], clear: bool, as_json: bool) -> None:
    """Show, fill or clear the cache of unwind tables and data types.

    Each run on a recording caches the unwind rows that it needed and the types of instructions for later runs. With
    ELF, whole tables of these binaries are cached. $UNDWARF_CACHE_DIR names the directory (default: ~/.cache/undwarf;
    "off": no cache).

    \b
    Examples:
      undwarf tables cache
      undwarf tables cache /usr/lib/x86_64-linux-gnu/libc.so.6
      undwarf tables cache --clear
    """
    from undwarf.outputs.tables.cache import CacheOptions, write, write_json
    from undwarf.tables.disk.cache import Store
    from undwarf.tables.disk.whole_tables import store_whole
    from undwarf.types.answer_cache import answer_files
    from undwarf.views.tables.dump import Binary

    store, answers = Store.from_environment(), answer_files()
    if store is None or answers is None:
        raise UsageError("there is no cache", "UNDWARF_CACHE_DIR is off", "set it to a directory")
    if clear:
        count = store.clear()
        notify("note", f"{count} table{'' if count == 1 else 's'} removed")
        count = answers.clear()
        notify("note", f"data types of {count} file{'' if count == 1 else 's'} removed")
    for name in elf:
        binary = Binary.open(name)
        store_whole(store, name, binary.elf, binary.debug_elf(), binary.defects)
    options = CacheOptions(str(store.directory), store.limit, answers)
    if as_json:
        write_json(store.entries(), sys.stdout, options)
    elif not (clear or elf):
        write(store.entries(), sys.stdout, options)
