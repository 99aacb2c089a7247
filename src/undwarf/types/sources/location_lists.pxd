from undwarf.types.sources.dwarf_numbers cimport Reader
