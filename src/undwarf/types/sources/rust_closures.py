"""The environment type of a Rust closure: the structure of its captured variables.

rustc puts the closures of a function into its namespace: the code as a function ``{closure#0}``, the captured variables
as a structure ``{closure_env#0}``, both with the generic parameters of the enclosing function in their names. DWARF
describes the captured variables but not the parameter that points to the structure, so the structure is found by its
name. It may be in another unit than the code: in that of the function that creates the closure.
"""

from undwarf.dwarf.die import Entry
from undwarf.dwarf.tags import STRUCTURE_TYPE
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.dwarf_entries import ABSTRACT_ORIGIN, SPECIFICATION, name_of_entry
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.type_definitions import CAPTURED

__all__ = ["environment_of"]

_CODE = "{closure#"


def environment_of(types: DwarfTypes, entry: Entry) -> int:
    """The environment structure of a closure, from the entry of its code; void for other functions or if it is not
    found."""
    name = name_of_entry(entry)
    if not name.startswith(_CODE):
        return VOID
    wanted = CAPTURED + name[len(_CODE) :]
    for _hop in range(8):
        space, unit = entry.space, entry.unit
        row = space.row_of(unit, entry.offset)
        if row >= 0:
            rows = space.declared(unit)
            parents, tags = rows["parent"].tolist(), rows["tag"]
            for k, parent in enumerate(parents):
                if parent == parents[row] and tags[k] == STRUCTURE_TYPE and space.row_name(unit, k) == wanted:
                    return types.number(space, rows["die"][k])
        further = entry.reference(ABSTRACT_ORIGIN) or entry.reference(SPECIFICATION)
        if further is None:
            break
        entry = further
    return types.captured(entry.space.qualified(entry.unit, entry.offset, wanted))
