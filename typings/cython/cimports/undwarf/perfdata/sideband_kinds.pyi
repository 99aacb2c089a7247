"""undwarf/perfdata/sideband_kinds.pxd"""

from undwarf.perfdata.sideband_kinds import SidebandKind as SidebandKind
