"""undwarf/elf/headers.pxd"""

from undwarf.elf.headers import *
