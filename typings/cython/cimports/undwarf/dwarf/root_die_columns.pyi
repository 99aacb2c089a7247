"""undwarf/dwarf/root_die_columns.pxd"""

from undwarf.dwarf.root_die_columns import PLACES as PLACES
from undwarf.dwarf.root_die_columns import Root as Root
