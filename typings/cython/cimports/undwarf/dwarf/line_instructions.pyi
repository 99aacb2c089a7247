"""undwarf/dwarf/line_instructions.pxd"""

from undwarf.dwarf.line_instructions import *
