"""undwarf/dwarf/attributes.pxd"""

from undwarf.dwarf.attributes import *
