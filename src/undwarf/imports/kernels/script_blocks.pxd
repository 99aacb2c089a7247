from undwarf.perfdata.interner cimport Interner
from undwarf.profile.grouping cimport Pairs
