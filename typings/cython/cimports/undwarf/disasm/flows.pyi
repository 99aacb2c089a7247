"""undwarf/disasm/flows.pxd"""

from undwarf.disasm.flows import Flow as Flow

NEXT: int
JUMP: int
BRANCH: int
INDIRECT_JUMP: int
CALL: int
INDIRECT_CALL: int
RETURN: int
STOP: int
