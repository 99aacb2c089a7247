"""undwarf/dwarf/root_places.pxd"""

NAME: int
COMP_DIR: int
STMT_LIST: int
LOW_PC: int
HIGH_PC: int
RANGES: int
LANGUAGE: int
DWO_NAME: int
DWO_ID: int
STR_OFFSETS_BASE: int
ADDR_BASE: int
RNGLISTS_BASE: int
LOCLISTS_BASE: int
GNU_RANGES_BASE: int
TAG: int
CHILDREN: int
