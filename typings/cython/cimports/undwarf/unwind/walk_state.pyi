"""undwarf/unwind/walk_state.pxd"""

from undwarf.unwind.walk_state import *
