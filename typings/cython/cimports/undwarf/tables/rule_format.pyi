"""undwarf/tables/rule_format.pxd"""

from undwarf.tables.rule_format import *
