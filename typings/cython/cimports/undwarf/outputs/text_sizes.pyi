"""undwarf/outputs/text_sizes.pxd"""

from undwarf.outputs.text_sizes import *
