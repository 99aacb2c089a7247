# constants of kernels: the build writes the .pxd beside this file
"""The kinds of nodes in the tree of a mangled name."""

from enum import IntEnum


class NodeKind(IntEnum):
    """What a node is, and what its fields ``text``, ``first`` and ``second`` hold."""

    NAME = 0
    """text"""
    QUALIFIED = 1
    """first::second"""
    LOCAL = 2
    """first::text second, where first is the enclosing function"""
    TEMPLATE = 3
    """first<second>"""
    LIST = 4
    """first: list of nodes"""
    FUNCTION = 5
    """function type. first: return type or None, second: LIST of parameters, text: what follows those"""
    CV = 6
    """first, qualified by text. second: the same as first for the qualifiers of a member function, else None"""
    POINTER = 7
    """text (`*`, `&` or `&&`) to first"""
    MEMBER = 8
    """pointer to member of class first and type second"""
    ARRAY = 9
    """array of second. first: dimension or None"""
    VECTOR = 10
    """vector of second. first: dimension or None"""
    ENCODING = 11
    """function or data with name first and type second"""
    CONSTRUCTOR = 12
    """text, for destructors too"""
    OPERATOR = 13
    """text. first: number of operands, second: its mangled code"""
    CONVERSION = 14
    """conversion operator to first"""
    TAGGED = 15
    """first with ABI tag text"""
    LAMBDA = 16
    """closure or unnamed type. second: LIST of parameters, or None when text is the whole name"""
    PREFIXED = 17
    """text first"""
    EXPANSION = 18
    """pack expansion of the pattern first"""
    LITERAL = 19
    """text of type first"""
    UNARY = 20
    """operator first, operand second. text: `suffix` for postfix operators"""
    BINARY = 21
    """operator first, LIST of operands second. text: mangled code or `cast`"""
    TERNARY = 22
    """operator first, LIST of operands second"""
    CAST = 23
    """conversion to type first, as an operator"""
    DECLTYPE = 24
    """decltype (first)"""
    BRACED = 25
    """first, and LIST second in the two brackets in text"""
    JOINED = 26
    """first text second"""
    FORWARD = 27
    """template parameter number text. first: its argument, second: the arguments it belongs to"""
    STANDARD = 28
    """text: an abbreviated class of the standard library"""
    PARAMETER = 29
    """text: a function parameter in an expression"""
    FOLD = 30
    """fold over operator first, LIST of operands second. text: mangled code"""
    NEW = 31
    """text: new or new[]. first: LIST of placement arguments, second: [type, initialiser or None]"""
    PACK = 32
    """argument pack. first: list of nodes"""
    GENERIC = 33
    """text: `auto` parameter of a lambda. first: argument of the enclosing template or None"""
