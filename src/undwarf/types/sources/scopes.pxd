from undwarf.types.sources.declared cimport Declared, Variable
from undwarf.types.sources.expressions cimport Expressions, Told
