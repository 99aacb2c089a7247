"""undwarf/symbols/itanium/node_kinds.pxd"""

from undwarf.symbols.itanium.node_kinds import NodeKind as NodeKind
