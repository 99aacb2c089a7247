# constants of kernels: the build writes the .pxd beside this file
"""What a node of a name's tree is, of parts a and b. `kinds.pxd` has the numbers for compiled modules."""

NAME = 0  # text
QUALIFIED = 1  # a::b
LOCAL = 2  # a::b, a is a function
TEMPLATE = 3  # a<b>
LIST = 4  # a: items
FUNCTION = 5  # a: return type or None, b: LIST
CV = 6  # a with the qualifier in text; b, where it is said of a member function
POINTER = 7  # a, text * & &&
MEMBER = 8  # pointer to member b of a
ARRAY = 9  # b of a, a may be None
VECTOR = 10  # b, of a elements
ENCODING = 11  # name a, type b
CONSTRUCTOR = 12  # text
OPERATOR = 13  # text, of a operands, code b
CONVERSION = 14  # a
TAGGED = 15  # a, text
LAMBDA = 16  # b, text; without b the text is all
PREFIXED = 17  # text a
EXPANSION = 18  # a...
LITERAL = 19  # of type a, text
UNARY = 20  # operator a, operand b
BINARY = 21  # operator a, LIST b
TERNARY = 22  # operator a, LIST b
CAST = 23  # a
DECLTYPE = 24  # a
BRACED = 25  # a{b}
JOINED = 26  # a text b
FORWARD = 27  # a template parameter: number text, argument a, one of the arguments b
STANDARD = 28  # text: an abbreviation that is a type
PARAMETER = 29  # text: a parameter of a function, in an expression
FOLD = 30  # operator a, LIST b, code text
NEW = 31  # text, LIST of where a, b: type and how it starts
PACK = 32  # a: items of the pack that a parameter stands for
GENERIC = 33  # a template parameter a, in the parameters of a lambda text
