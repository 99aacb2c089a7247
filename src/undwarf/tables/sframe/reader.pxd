from undwarf.tables.row_table cimport RowProducer, RowTable
from undwarf.tables.sframe.rules cimport SectionRules
