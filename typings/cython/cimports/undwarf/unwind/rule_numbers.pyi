"""undwarf/unwind/rule_numbers.pxd"""

from undwarf.unwind.rule_numbers import *
