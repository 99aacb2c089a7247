from undwarf.symbols.itanium.names cimport Names
from undwarf.symbols.itanium.spelling cimport Speller
