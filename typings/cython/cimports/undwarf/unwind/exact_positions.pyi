"""undwarf/unwind/exact_positions.pxd"""

from undwarf.unwind.exact_positions import ALL_PATHS as ALL_PATHS
from undwarf.unwind.exact_positions import CALLEE_SLOTS as CALLEE_SLOTS
from undwarf.unwind.exact_positions import CONTRADICTED as CONTRADICTED
from undwarf.unwind.exact_positions import GENERAL_REGISTERS as GENERAL_REGISTERS
from undwarf.unwind.exact_positions import NEAR_SLOTS as NEAR_SLOTS
from undwarf.unwind.exact_positions import NO_FACTS as NO_FACTS
from undwarf.unwind.exact_positions import REACH as REACH
from undwarf.unwind.exact_positions import CallLevel as CallLevel
from undwarf.unwind.exact_positions import Position as Position
