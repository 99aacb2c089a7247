"""undwarf/perfdata/event_ids.pxd"""

from undwarf.perfdata.event_ids import EventIds as EventIds
