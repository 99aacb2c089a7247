"""undwarf/tables/registers_x86_64.pxd"""

from undwarf.tables.registers_x86_64 import *
