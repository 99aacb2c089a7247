"""undwarf/unwind/aarch64/registers.pxd"""

from undwarf.unwind.aarch64.registers import *
