"""undwarf/perfdata/record_types.pxd"""

from undwarf.perfdata.record_types import RecordType as RecordType
