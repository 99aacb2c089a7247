from undwarf.types.sources.code_scopes cimport CodeScopes
from undwarf.types.sources.declared cimport Declared, Variable
from undwarf.types.sources.expressions cimport Expressions, Told
