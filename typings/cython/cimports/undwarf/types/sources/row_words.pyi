"""undwarf/types/sources/row_words.pxd"""

from undwarf.types.sources.row_words import *
