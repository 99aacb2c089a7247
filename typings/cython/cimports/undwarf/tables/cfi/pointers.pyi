"""undwarf/tables/cfi/pointers.pxd"""

from undwarf.tables.cfi.pointers import *
