"""The unwind table of one file."""

import os
from collections.abc import Iterable, Iterator, Sequence

from undwarf.defects import Defects
from undwarf.limits import DEFAULT, Limits
from undwarf.tables import model
from undwarf.tables.model import Rule


class UnwindTable:
    """The rules of an ELF file by address: from program counter to where the caller's registers are.

    Made by :meth:`from_elf`. Its length is the number of functions; iteration gives all rows as (address, end, rule),
    the rule None where there is none. Addresses are ELF virtual addresses.

    >>> table = undwarf.UnwindTable.from_elf("demo/words")
    >>> table.rule_at(table.starts[0]).cfa
    'rsp+8'
    """

    def __init__(self, table: model.UnwindTable, path: str, defects: Defects) -> None:
        self.path = path
        self.defects = defects
        self._table = table
        table.consult_all()

    @classmethod
    def from_elf(
        cls,
        elf: "str | os.PathLike[str]",
        source: str | Iterable[str] | None = None,
        *,
        limits: Limits = DEFAULT,
    ) -> "UnwindTable":
        """The table of a file, from its ``.eh_frame`` and, for what that leaves open, ``.debug_frame``.

        ``source`` names other sources, in order, as in ``"cfi,sframe"``; each fills what those before it leave open.
        Bad data is counted in ``defects``. Raises ElfError if the file cannot be read and UsageError for an unknown
        source.
        """
        defects = Defects()
        path = os.fspath(elf)
        return cls(model.UnwindTable.from_elf(path, source, limits=limits, defects=defects), path, defects)

    @property
    def starts(self) -> Sequence[int]:
        """First address of each function, ascending."""
        return self._table.starts

    @property
    def ends(self) -> Sequence[int]:
        """The end of each function."""
        return self._table.ends

    def rule_at(self, address: int) -> Rule | None:
        """The rule at an address; None if there is none."""
        return self._table.rule_at(address)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[tuple[int, int, Rule | None]]:
        return iter(self._table)

    def __repr__(self) -> str:
        return f"<undwarf.UnwindTable {self.path}: {len(self):,} functions>"
