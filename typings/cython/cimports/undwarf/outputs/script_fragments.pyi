"""undwarf/outputs/script_fragments.pxd"""

from undwarf.outputs.script_fragments import *
