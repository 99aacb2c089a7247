"""undwarf/types/dataflow/constants.pxd"""

from undwarf.types.dataflow.constants import *
