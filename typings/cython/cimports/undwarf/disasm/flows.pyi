"""undwarf/disasm/flows.pxd"""

NEXT: int
JUMP: int
BRANCH: int
INDIRECT_JUMP: int
CALL: int
INDIRECT_CALL: int
RETURN: int
STOP: int
