"""undwarf/integer_constants.pxd"""

from undwarf.integer_constants import *
