"""The size of a binary's unwind table in each format."""

from dataclasses import dataclass
from importlib import import_module

from undwarf.errors import UsageError
from undwarf.tables import writers
from undwarf.tables.model import NO_RULE
from undwarf.views.tables.dump import Binary

IN_FILE = (
    (".eh_frame", (".eh_frame",)),
    (".eh_frame_hdr", (".eh_frame_hdr",)),
    (".debug_frame", (".debug_frame",)),
    (".sframe", (".sframe",)),
    (".orc_unwind", (".orc_unwind", ".orc_unwind_ip")),
)

_ENTRY_SIZES = {".orc_unwind": 10}
"""In bytes: an address and an entry on x86-64."""


@dataclass(frozen=True, slots=True)
class Size:
    """One format: its bytes, the rows of the table that it cannot express (None: unknown), and the number of its
    ``entries`` if all have the same size."""

    name: str
    bytes: int
    rows_left_out: int | None = None
    entries: int | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts of a table, the formats in the file, and those written from the table."""

    functions: int
    rows: int
    rules: int
    in_file: list[Size]
    written: list[Size]


def sizes_of(binary: Binary, source: str | None) -> Sizes:
    """The size of each format: sections in the file, and those written from the table of ``source``."""
    in_file = []
    debug_elf = binary.debug_elf()
    for name, parts in IN_FILE:
        size = 0
        for elf in (binary.elf, debug_elf):
            if elf is not None and not size:
                contents = (elf.section_data(part) for part in parts)
                size = sum(len(data) for data in contents if data is not None)
        if size:
            in_file.append(Size(name, size, entries=size // _ENTRY_SIZES[name] if name in _ENTRY_SIZES else None))
    table = binary.table(source)
    rows = 0
    rules: set[int] = set()
    functions = table.functions
    for function in range(len(functions.starts)):
        numbers = functions.passing_rows(function)[1]
        rows += len(numbers)
        rules.update(numbers)
    rules.discard(NO_RULE)
    written = []
    for name in writers.MODULES:
        module = writers.writer(name)
        for version in getattr(module, "SIZED", module.VERSIONS) or ("",):
            try:
                output = writers.write(name, table, binary.elf, version or None)
            except UsageError:
                # The format does not support this machine.
                continue
            total = sum(section.size for section in output.sections)
            if output.sections:
                label = name if len(getattr(module, "SIZED", ())) == 1 else f"{name} {version}".strip()
                written.append(Size(label, total, sum(output.left_out.values())))
    for name, size_function in writers.SIZES.items():
        module_name, _, function_name = size_function.partition(":")
        bytes_of = getattr(import_module(module_name), function_name)(table, binary.elf)
        if bytes_of is not None:
            written.append(Size(name, bytes_of))
    return Sizes(len(table), rows, len(rules), in_file, written)
