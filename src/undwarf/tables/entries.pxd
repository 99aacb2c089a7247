from undwarf.tables.entry_reader cimport EntryReader
