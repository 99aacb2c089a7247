"""undwarf/perfdata/sample_fields.pxd"""

from undwarf.perfdata.sample_fields import SampleField as SampleField
