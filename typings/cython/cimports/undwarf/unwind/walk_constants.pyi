"""undwarf/unwind/walk_constants.pxd"""

from undwarf.unwind.walk_constants import *
