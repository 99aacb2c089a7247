"""undwarf/perfdata/sample_fields.pxd"""

IP: int
TID: int
TIME: int
ADDR: int
READ: int
CALLCHAIN: int
ID: int
CPU: int
PERIOD: int
STREAM_ID: int
RAW: int
BRANCH_STACK: int
REGS_USER: int
STACK_USER: int
WEIGHT: int
DATA_SRC: int
IDENTIFIER: int
TRANSACTION: int
REGS_INTR: int
PHYS_ADDR: int
AUX: int
CGROUP: int
DATA_PAGE_SIZE: int
CODE_PAGE_SIZE: int
WEIGHT_STRUCT: int
