"""undwarf/disasm/x86_encoding.pxd"""

from undwarf.disasm.x86_encoding import *
