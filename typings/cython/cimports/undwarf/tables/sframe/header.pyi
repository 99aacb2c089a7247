"""undwarf/tables/sframe/header.pxd"""

from undwarf.tables.sframe.header import *
