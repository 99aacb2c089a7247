from undwarf.views.grouping cimport Pairs
