"""undwarf/disasm/template_words.pxd"""

from undwarf.disasm.template_words import *
