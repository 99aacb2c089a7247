"""undwarf/dwarf/type_sizes.pxd"""

from undwarf.dwarf.type_sizes import size_at as size_at
