"""DWARF debugging information: units and entries, line tables, inlined functions.

:class:`DebugLines` answers what an address stands for. Below it, :class:`DwarfFile` has the sections of one file;
:class:`undwarf.dwarf.info.Info` reads units, entries and the functions of a unit, and
:class:`undwarf.dwarf.line.LineProgram` a line table.
"""

from undwarf.dwarf.lines import DebugLines, InlineChains
from undwarf.dwarf.sections import DwarfFile

__all__ = ["DebugLines", "DwarfFile", "InlineChains"]
