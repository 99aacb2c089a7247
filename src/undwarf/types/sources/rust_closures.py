"""The type of what a closure of Rust has captured.

rustc describes the closures of a function in that function's namespace: the code of one as a function
``{closure#0}``, what it captured as a structure ``{closure_env#0}`` beside it, both with the parameters of the generic
function around them in their names. The code's own parameter that leads there is not described, only the captured
variables are. Where the code is in one unit, and who makes the closure in another, the structure may be there alone.
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
    """The structure a closure's captured variables are in, by the entry of its code; void where there is none."""
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
