"""undwarf/symbols/itanium/ast.pxd"""

from undwarf.symbols.itanium.ast import Node as Node
from undwarf.symbols.itanium.ast import has_method_qualifiers as has_method_qualifiers
from undwarf.symbols.itanium.ast import new_node as new_node
