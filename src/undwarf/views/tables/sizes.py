"""Sizes of one binary's unwind table in each format."""

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
"""A slot and an entry of x86-64."""


@dataclass(frozen=True, slots=True)
class Size:
    """One format: its bytes, and what it leaves out of the table (rows), None where that is not known. ``entries`` is
    how many it has, where all are of one size."""

    name: str
    bytes: int
    rows_left_out: int | None = None
    entries: int | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of one table, the formats in the file, and those we write of the table."""

    functions: int
    rows: int
    rules: int
    in_file: list[Size]
    written: list[Size]

    def as_json(self) -> dict[str, object]:
        """For machines."""
        written = [{"name": one.name, "bytes": one.bytes, "rows_left_out": one.rows_left_out} for one in self.written]
        return {
            "functions": self.functions,
            "rows": self.rows,
            "rules": self.rules,
            "in_file": [
                {"name": one.name, "bytes": one.bytes} | ({"entries": one.entries} if one.entries is not None else {})
                for one in self.in_file
            ],
            "written": written,
        }


def sizes_of(binary: Binary, source: str | None) -> Sizes:
    """What each format takes: sections that are there, and those that would be written of the table of ``source``."""
    in_file = []
    other = binary.debug_elf()
    for name, parts in IN_FILE:
        size = 0
        for elf in (binary.elf, other):
            if elf is not None and not size:
                found = (elf.section_data(part) for part in parts)
                size = sum(len(data) for data in found if data is not None)
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
                made = writers.write(name, table, binary.elf, version or None)
            except UsageError:
                # A format that there is not for this machine.
                continue
            total = sum(section.size for section in made.sections)
            if made.sections:
                label = name if len(getattr(module, "SIZED", ())) == 1 else f"{name} {version}".strip()
                written.append(Size(label, total, sum(made.left_out.values())))
    for name, where in writers.SIZES.items():
        module_name, _, function_name = where.partition(":")
        bytes_of = getattr(import_module(module_name), function_name)(table, binary.elf)
        if bytes_of is not None:
            written.append(Size(name, bytes_of))
    return Sizes(len(table), rows, len(rules), in_file, written)
