"""Data types: their layouts, where values of them are, and which of them an instruction touches.

Folders go on from one another: `layouts/` has the types as a graph, whatever they came from (its class `TypeGraph`);
`sources/` what debugging information, BTF and symbols say (`type_source.py`: what is asked of each); `dataflow/` what
registers and memory hold in a function; `uses/` what else is done with a value; `inference/` what nothing names.
`resolver.py` puts them together for one instruction, `open_resolver.py` for a file, `resolvers_by_image.py` for all
files of a recording.
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
