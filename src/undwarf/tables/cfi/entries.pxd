from undwarf.tables.cfi.fde_reader cimport EntryReader
