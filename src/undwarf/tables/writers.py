"""The formats that an unwind table can be written in, by name.

A further format is one module ``tables/to_NAME.py`` and one line in :data:`MODULES`. The module offers::

    VERSIONS = ("3", "2")           # for --version, the default first; () if there is one
    def write(table: UnwindTable, elf: ElfFile, version: str) -> Written

With that, `undwarf tables convert --to NAME` and a line of `undwarf tables sizes` work. A format that is no section of
an ELF file (the cache) only has a line in `undwarf tables sizes`: see :data:`SIZES`.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from undwarf.elf.writer import NewSection
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.elf import ElfFile
    from undwarf.tables.model import UnwindTable

__all__ = ["MODULES", "SIZES", "NewSection", "Written", "write", "writer"]

MODULES: dict[str, str] = {"sframe": "undwarf.tables.to_sframe", "orc": "undwarf.tables.to_orc"}
"""The module of each format, imported when it is used."""

SIZES: dict[str, str] = {"cache": "undwarf.tables.disk.cache:bytes_of"}
"""Formats for `undwarf tables sizes` alone: name -> ``"module:function"``, where ``function(table, elf)`` gives bytes,
or None where the format cannot hold the table."""


@dataclass(slots=True)
class Written:
    """A written table: its sections, the functions and rows in them, and rows left out, by reason."""

    sections: list[NewSection]
    functions: int = 0
    rows: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


def writer(name: str) -> Any:
    """The module of a format; raises UsageError for one that is not known."""
    if name not in MODULES:
        raise UsageError(f"cannot write {name!r}", f"the formats are {', '.join(MODULES)}")
    return import_module(MODULES[name])


def write(name: str, table: "UnwindTable", elf: "ElfFile", version: str | None = None) -> Written:
    """A table in another format. Raises UsageError for a version that the format does not have."""
    module = writer(name)
    versions: tuple[str, ...] = module.VERSIONS
    if version is not None and version not in versions:
        has = f"it has {', '.join(versions)}" if versions else "it has none"
        raise UsageError(f"{name} has no version {version!r}", has)
    written: Written = module.write(table, elf, version or (versions[0] if versions else ""))
    return written
