from undwarf.profile.grouping cimport Pairs
