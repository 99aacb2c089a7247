"""undwarf/tables/cfi/instructions.pxd"""

from undwarf.tables.cfi.instructions import *
