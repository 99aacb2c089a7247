"""undwarf/perfdata/event_layouts.pxd"""

from undwarf.perfdata.event_layouts import EventLayouts as EventLayouts
from undwarf.perfdata.sample_layout import EventLayout as EventLayout
from undwarf.perfdata.sample_layout import FieldStep as FieldStep
