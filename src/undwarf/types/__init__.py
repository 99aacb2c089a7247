"""Data types: their layouts, where values of them are, and which of them an instruction touches.

:class:`undwarf.types.model.TypeGraph` has the types, whatever they came from; :mod:`undwarf.types.places` says what a
source of types knows about variables and functions.
"""

from undwarf.types.model import Field, Kind, Member, TypeGraph, TypeRecord
from undwarf.types.places import GlobalVariable, Place, PlaceKind, Prototype, TypeSource

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
