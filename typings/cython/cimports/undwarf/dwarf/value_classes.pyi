"""undwarf/dwarf/value_classes.pxd"""

NOTHING: int
ADDRESS: int
UNSIGNED: int
SIGNED: int
FLAG: int
BLOCK: int
STRING: int
STRP: int
LINE_STRP: int
STRX: int
STRP_ALT: int
REF: int
REF_ALT: int
REF_SIG8: int
SEC_OFFSET: int
ADDRX: int
LOCLISTX: int
RNGLISTX: int
DATA16: int
