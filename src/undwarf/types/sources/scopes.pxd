from undwarf.types.sources.code_scopes cimport CodeScopes
from undwarf.types.sources.variable_declarations cimport Declared, Variable
from undwarf.types.sources.location_expressions cimport Expressions, Told
