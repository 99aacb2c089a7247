from undwarf.types.sources.code_scopes cimport CodeScopes
from undwarf.types.sources.variable_declarations cimport VariableDeclarations, Variable
from undwarf.types.sources.location_expressions cimport Expressions, DecodedExpression
