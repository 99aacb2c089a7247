"""undwarf/dwarf/reader_constants.pxd"""

from undwarf.dwarf.reader_constants import *
