"""undwarf/perfdata/sample_columns.pxd"""

from undwarf.perfdata.sample_columns import *
