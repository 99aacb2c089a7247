from undwarf.dwarf.unit_index cimport Declarations
