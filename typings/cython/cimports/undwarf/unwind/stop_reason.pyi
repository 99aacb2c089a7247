"""undwarf/unwind/stop_reason.pxd"""

from undwarf.unwind.stop_reason import StopReason as StopReason
