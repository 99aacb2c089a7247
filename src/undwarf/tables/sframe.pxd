from undwarf.tables.row_table cimport RowTable
from undwarf.tables.sframe_rules cimport SectionRules
