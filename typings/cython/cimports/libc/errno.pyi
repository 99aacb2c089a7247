"""errno.h"""

errno: int
EMFILE: int
