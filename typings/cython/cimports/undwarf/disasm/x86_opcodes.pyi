"""undwarf/disasm/x86_opcodes.pxd"""

from undwarf.disasm.x86_opcodes import *
