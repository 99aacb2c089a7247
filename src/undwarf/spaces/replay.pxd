from undwarf.spaces.int_map cimport IntMap
from undwarf.spaces.mappings cimport Mappings
