"""undwarf/symbols/symbol_rank.pxd"""

from undwarf.symbols.symbol_rank import *
