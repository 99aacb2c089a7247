"""undwarf/disasm/instruction_semantics.pxd"""

from undwarf.disasm.instruction_semantics import Action as Action

OTHER: int
COPY: int
CONSTANT: int
LOAD: int
STORE: int
ADDRESS: int
ADD: int
SUBTRACT: int
MULTIPLY: int
SHIFT_LEFT: int
AND: int
EXTEND: int
SELECT: int
EXCHANGE: int
PUSH: int
POP: int
LEAVE: int
ADD_MEMORY: int
LOAD_PAIR: int
STORE_PAIR: int
OR: int
UPDATE: int
SHIFT_RIGHT: int
CARRY: int
REPEAT: int
TEST: int
IF_ZERO: int
IF_NOT_ZERO: int
COPY_PAIR: int
COPY_UPPER: int
SET_UPPER: int
COMPARE: int
SET_IF_ZERO: int
SET_IF_NOT_ZERO: int
