"""undwarf/symbols/ranks.pxd"""

from undwarf.symbols.ranks import *
