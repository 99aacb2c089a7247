"""undwarf/dwarf/unit_kinds.pxd"""

COMPILE: int
TYPE: int
PARTIAL: int
SKELETON: int
SPLIT_COMPILE: int
SPLIT_TYPE: int
