"""undwarf/dwarf/constants.pxd"""

from undwarf.dwarf.constants import *
