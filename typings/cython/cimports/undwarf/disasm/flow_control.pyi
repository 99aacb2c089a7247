"""undwarf/disasm/flow_control.pxd"""

from undwarf.disasm.flow_control import Flow as Flow

NEXT: int
JUMP: int
BRANCH: int
INDIRECT_JUMP: int
CALL: int
INDIRECT_CALL: int
RETURN: int
STOP: int
