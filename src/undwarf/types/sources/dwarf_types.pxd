from undwarf.types.sources.reader cimport Reader
