"""undwarf/types/dataflow/known_values.pxd"""

NOTHING: int
UNKNOWN: int
NULL: int
NOWHERE: int
ANYWHERE: int
