"""undwarf/spaces/mapping_flags.pxd"""

from undwarf.spaces.mapping_flags import *
