"""undwarf/dwarf/operations.pxd"""

from undwarf.dwarf.operations import *
