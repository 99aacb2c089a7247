"""undwarf/perfdata/sideband_kinds.pxd"""

from undwarf.perfdata.sideband_kinds import SidebandKind as SidebandKind
from undwarf.perfdata.sideband_kinds import SideInt as SideInt
from undwarf.perfdata.sideband_kinds import SideNumber as SideNumber
from undwarf.perfdata.sideband_kinds import SideWord as SideWord
