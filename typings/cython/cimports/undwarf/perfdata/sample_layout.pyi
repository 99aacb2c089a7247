"""undwarf/perfdata/sample_layout.pxd"""

from undwarf.perfdata.sample_layout import FieldShape as FieldShape
from undwarf.perfdata.sample_layout import SampleInt as SampleInt
from undwarf.perfdata.sample_layout import SampleShort as SampleShort
from undwarf.perfdata.sample_layout import SampleWord as SampleWord
