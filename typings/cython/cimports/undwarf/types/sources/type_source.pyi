"""undwarf/types/sources/type_source.pxd"""

from undwarf.types.sources.type_source import PlaceKind as PlaceKind
