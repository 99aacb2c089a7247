"""undwarf/perfdata/sideband_decoder.pxd"""

from undwarf.perfdata.sideband_decoder import SidebandDecoder as SidebandDecoder
