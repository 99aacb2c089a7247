"""undwarf/dwarf/range_list_entries.pxd"""

from undwarf.dwarf.range_list_entries import *
