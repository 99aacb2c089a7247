"""undwarf/integers.pxd"""

from undwarf.integers import *
