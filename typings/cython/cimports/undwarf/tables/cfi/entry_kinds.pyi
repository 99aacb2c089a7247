"""undwarf/tables/cfi/entry_kinds.pxd"""

from undwarf.tables.cfi.entry_kinds import *
