"""Data types: their layouts, where values of them are, and which of them an instruction touches.

Folders go on from one another: `layouts/` has the types as a graph, whatever they came from (its class `TypeGraph`);
`sources/` what debugging information, BTF and symbols say (`places.py`: what is asked of each); `dataflow/` what
registers and memory hold in a function; `uses/` what else is done with a value; `inference/` what nothing names.
`resolve.py` puts them together for one instruction, `opening.py` for a file, `images.py` for all files of a recording.
"""

from undwarf.types.layouts.model import Field, Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.places import GlobalVariable, Place, PlaceKind, Prototype, TypeSource

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
