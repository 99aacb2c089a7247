"""undwarf/tables/registers_aarch64.pxd"""

from undwarf.tables.registers_aarch64 import *
