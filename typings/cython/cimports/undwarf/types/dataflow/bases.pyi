"""undwarf/types/dataflow/bases.pxd"""

NUMBER: int
FRAME: int
OBJECT: int
ADDRESS: int
PERCPU: int
THREAD: int
POISON: int
VIRTUAL: int
