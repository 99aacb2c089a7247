"""undwarf/dwarf/root_die_columns.pxd"""

from undwarf.dwarf.root_die_columns import ROOT_COLUMNS as ROOT_COLUMNS
from undwarf.dwarf.root_die_columns import Root as Root
