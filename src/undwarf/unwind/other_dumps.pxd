from undwarf.unwind.frame_log cimport FrameLog
from undwarf.unwind.rule_cache cimport RuleCache
from undwarf.unwind.stacks cimport Stacks
