from undwarf.tables.cfi.entries cimport Entries
from undwarf.tables.cfi.fde_reader cimport FdeReader
from undwarf.tables.row_table cimport RowProducer, RowTable
from undwarf.tables.rule_set cimport RuleSet
