"""undwarf/perfdata/scan_status.pxd"""

from undwarf.perfdata.scan_status import Boundary as Boundary
from undwarf.perfdata.scan_status import ScanStatus as ScanStatus
