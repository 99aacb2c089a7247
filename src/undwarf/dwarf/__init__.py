"""DWARF debugging information: units and entries, line tables, inlined functions.

:class:`undwarf.dwarf.line_lookup.DebugLines` answers what an address stands for. Below it,
:class:`undwarf.dwarf.sections.DwarfFile` has the sections of one file;
:class:`undwarf.dwarf.die.DebugInfo` reads units, DIEs and the functions of a unit, and
:class:`undwarf.dwarf.line_program.LineProgram` a line table.
"""
