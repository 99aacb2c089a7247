"""undwarf/symbols/symbol_constants.pxd"""

from undwarf.symbols.symbol_constants import *
