from undwarf.tables.row_table cimport RowTable
from undwarf.tables.sframe.rules cimport SectionRules
