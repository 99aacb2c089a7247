"""undwarf/tables/words.pxd"""

from undwarf.tables.words import *
