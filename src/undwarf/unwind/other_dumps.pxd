from undwarf.unwind.frame_log cimport FrameLog
from undwarf.unwind.lookup cimport Lookup
from undwarf.unwind.stacks cimport Stacks
