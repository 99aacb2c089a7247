"""undwarf/dwarf/forms.pxd"""

from undwarf.dwarf.forms import *
