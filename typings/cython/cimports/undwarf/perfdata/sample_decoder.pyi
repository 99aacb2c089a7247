"""undwarf/perfdata/sample_decoder.pxd"""

from undwarf.perfdata.sample_decoder import SampleDecoder as SampleDecoder
