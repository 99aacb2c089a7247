"""undwarf/perfdata/sideband_kinds.pxd"""

MMAP: int
COMM: int
FORK: int
EXIT: int
KSYMBOL: int
TEXT_POKE: int
BPF: int
CGROUP: int
NAMESPACES: int
SWITCH: int
LOST: int
DEFERRED: int
AUX: int
ITRACE_START: int
AUX_OUTPUT_HW_ID: int
THROTTLE: int
UNTHROTTLE: int
