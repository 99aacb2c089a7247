"""undwarf/tables/cfa_instructions.pxd"""

from undwarf.tables.cfa_instructions import *
