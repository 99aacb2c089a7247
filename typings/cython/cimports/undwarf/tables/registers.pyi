"""undwarf/tables/registers.pxd"""

from undwarf.tables.registers import *
