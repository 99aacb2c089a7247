"""undwarf/outputs/script_modes.pxd"""

from undwarf.outputs.script_modes import *
