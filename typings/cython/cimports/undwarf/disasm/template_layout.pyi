"""undwarf/disasm/template_layout.pxd"""

from undwarf.disasm.template_layout import *
