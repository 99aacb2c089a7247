"""Data types of memory accesses: which type and member each memory operand of an instruction accesses.

Folders, each using those before it: `layouts/` is the type graph, independent of its source (class `TypeGraph`);
`sources/` reads DWARF, BTF and symbols (interface in `type_source.py`); `dataflow/` computes abstract values of
registers and memory in a function; `evidence/` has rules that use other uses of a value; `inference/` types values
without declarations. `resolver.py` combines them for one instruction, `open_resolver.py` opens a file,
`resolvers_by_image.py` all files of a recording.
"""

from undwarf.types.layouts.type_graph import Field, Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind, Prototype, TypeSource

__all__ = [
    "Field",
    "GlobalVariable",
    "Kind",
    "Member",
    "Place",
    "PlaceKind",
    "Prototype",
    "TypeGraph",
    "TypeRecord",
    "TypeSource",
]
