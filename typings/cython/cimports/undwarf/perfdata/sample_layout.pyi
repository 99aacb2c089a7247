"""undwarf/perfdata/sample_layout.pxd"""

from undwarf.perfdata.sample_layout import *
