from undwarf.tables.row_table cimport RowTable
from undwarf.tables.rule_set cimport RuleSet
