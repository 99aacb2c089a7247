from undwarf.dwarf.declarations cimport Declarations
