"""undwarf/dwarf/unit_kinds.pxd"""

from undwarf.dwarf.unit_kinds import UnitKind as UnitKind
