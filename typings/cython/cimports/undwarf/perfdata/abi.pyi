"""undwarf/perfdata/abi.pxd"""

from undwarf.perfdata.abi import *
