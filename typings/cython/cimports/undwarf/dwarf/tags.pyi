"""undwarf/dwarf/tags.pxd"""

from undwarf.dwarf.tags import *
