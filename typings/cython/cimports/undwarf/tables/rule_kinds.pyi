"""undwarf/tables/rule_kinds.pxd"""

from undwarf.tables.rule_kinds import *
