from undwarf.tables.row_table cimport RowTable
