"""undwarf/dwarf/relocation_operations.pxd"""

from undwarf.dwarf.relocation_operations import *
