# cython: language_level=3
"""C++ names by the Itanium ABI: mangled text to a tree, and the tree to text as GNU spells it, within bounds.

Template parameters stand for their arguments as soon as they are read, so that the tree means the same wherever a
substitution leads to it. Source: Itanium C++ ABI, "Mangling"; where names of the real world go beyond it or fall
behind, what binutils' c++filt says.
"""

from typing import Any

import cython

__all__ = ["demangled"]

# What a node is; a and b are its parts.
NAME = cython.declare(cython.int, 0)  # text
QUALIFIED = cython.declare(cython.int, 1)  # a::b
LOCAL = cython.declare(cython.int, 2)  # a::b, a is a function
TEMPLATE = cython.declare(cython.int, 3)  # a<b>
LIST = cython.declare(cython.int, 4)  # items
FUNCTION = cython.declare(cython.int, 5)  # a: return type or None, b: LIST
CV = cython.declare(cython.int, 6)  # a with the qualifier in text
POINTER = cython.declare(cython.int, 7)  # a, text * & &&
MEMBER = cython.declare(cython.int, 8)  # pointer to member b of a
ARRAY = cython.declare(cython.int, 9)  # b of a, a may be None
VECTOR = cython.declare(cython.int, 10)
ENCODING = cython.declare(cython.int, 11)  # name a, type b
CONSTRUCTOR = cython.declare(cython.int, 12)  # text
OPERATOR = cython.declare(cython.int, 13)  # text, code in extra
CONVERSION = cython.declare(cython.int, 14)  # a
TAGGED = cython.declare(cython.int, 15)  # a, text
LAMBDA = cython.declare(cython.int, 16)  # b, text
PREFIXED = cython.declare(cython.int, 17)  # text a
EXPANSION = cython.declare(cython.int, 18)  # a...
LITERAL = cython.declare(cython.int, 19)  # type a, text
UNARY = cython.declare(cython.int, 20)  # operator a, operand b
BINARY = cython.declare(cython.int, 21)  # operator a, LIST b
TERNARY = cython.declare(cython.int, 22)
CAST = cython.declare(cython.int, 23)  # a
DECLTYPE = cython.declare(cython.int, 24)  # a
BRACED = cython.declare(cython.int, 25)  # a{b}
JOINED = cython.declare(cython.int, 26)  # a text b
FORWARD = cython.declare(cython.int, 27)  # a template parameter: number text, argument a, one of the arguments b
STANDARD = cython.declare(cython.int, 28)  # text: an abbreviation that is a type
PARAMETER = cython.declare(cython.int, 29)  # text: of a function, in an expression
FOLD = cython.declare(cython.int, 30)
NEW = cython.declare(cython.int, 31)
GENERIC = cython.declare(cython.int, 33)  # a template parameter a, in the parameters of a lambda text
PACK = cython.declare(cython.int, 32)  # items: the pack that a parameter stands for

DEPTH = cython.declare(cython.int, 200)
"""Levels that a name may nest."""

BUILTIN: dict[str, str] = {
    "a": "signed char", "b": "bool", "c": "char", "d": "double", "e": "long double", "f": "float", "g": "__float128",
    "h": "unsigned char", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "n": "__int128",
    "o": "unsigned __int128", "s": "short", "t": "unsigned short", "v": "void", "w": "wchar_t", "x": "long long",
    "y": "unsigned long long", "z": "...",
}  # fmt: skip
LATER: dict[str, str] = {
    "a": "auto", "c": "decltype(auto)", "d": "decimal64", "e": "decimal128", "f": "decimal32", "h": "half",
    "i": "char32_t", "n": "decltype(nullptr)", "s": "char16_t", "u": "char8_t",
}  # fmt: skip
_STREAM = "<char, std::char_traits<char> >"
_STRING = "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"
STANDARDS: dict[str, tuple[str, str, str]] = {
    "a": ("std::allocator", "std::allocator", "allocator"),
    "b": ("std::basic_string", "std::basic_string", "basic_string"),
    "s": ("std::string", _STRING, "basic_string"),
    "i": ("std::istream", "std::basic_istream" + _STREAM, "basic_istream"),
    "o": ("std::ostream", "std::basic_ostream" + _STREAM, "basic_ostream"),
    "d": ("std::iostream", "std::basic_iostream" + _STREAM, "basic_iostream"),
}
OPERATORS: dict[str, tuple[str, int]] = {
    "aN": ("&=", 2), "aS": ("=", 2), "aa": ("&&", 2), "ad": ("&", 1), "an": ("&", 2), "at": ("alignof ", 1),
    "aw": ("co_await ", 1), "az": ("alignof ", 1), "cc": ("const_cast", 2), "cl": ("()", 2), "cm": (",", 2),
    "co": ("~", 1), "dV": ("/=", 2), "dX": ("[...]=", 3), "da": ("delete[] ", 1), "dc": ("dynamic_cast", 2),
    "de": ("*", 1), "di": ("=", 2), "dl": ("delete ", 1), "ds": (".*", 2), "dt": (".", 2), "dv": ("/", 2),
    "dx": ("]=", 2), "eO": ("^=", 2), "eo": ("^", 2), "eq": ("==", 2), "fL": ("...", 3), "fR": ("...", 3),
    "fl": ("...", 2), "fr": ("...", 2), "ge": (">=", 2), "gs": ("::", 1), "gt": (">", 2), "ix": ("[]", 2),
    "lS": ("<<=", 2), "le": ("<=", 2), "li": ('operator"" ', 1), "ls": ("<<", 2), "lt": ("<", 2), "mI": ("-=", 2),
    "mL": ("*=", 2), "mi": ("-", 2), "ml": ("*", 2), "mm": ("--", 1), "na": ("new[]", 3), "ne": ("!=", 2),
    "ng": ("-", 1), "nt": ("!", 1), "nw": ("new", 3), "nx": ("noexcept", 1), "oR": ("|=", 2), "oo": ("||", 2),
    "or": ("|", 2), "pL": ("+=", 2), "pl": ("+", 2), "pm": ("->*", 2), "pp": ("++", 1), "ps": ("+", 1),
    "pt": ("->", 2), "qu": ("?", 3), "rM": ("%=", 2), "rS": (">>=", 2), "rc": ("reinterpret_cast", 2), "rm": ("%", 2),
    "rs": (">>", 2), "sP": ("sizeof...", 1), "sZ": ("sizeof...", 1), "sc": ("static_cast", 2), "ss": ("<=>", 2),
    "st": ("sizeof ", 1), "sz": ("sizeof ", 1), "te": ("typeid ", 1), "ti": ("typeid ", 1), "tr": ("throw", 0),
    "tw": ("throw ", 1),
}  # fmt: skip
_SPECIAL: dict[str, str] = {
    "TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for ", "TF": "typeinfo fn for ",
}  # fmt: skip
_OF_NAMES: dict[str, str] = {
    "TH": "TLS init function for ", "TW": "TLS wrapper function for ", "GV": "guard variable for ",
}  # fmt: skip

SPELLED = cython.declare(cython.int, 500)
"""Levels that the tree of a name may have."""
STEPS = cython.declare(cython.int, 60_000)
"""Nodes that are spelled for one name: packs may repeat without an end and yield nothing."""

_SUFFIXES: dict[str, str] = {
    "int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull",
}  # fmt: skip
_FAR = 30
"""Levels down to which a pack is looked for."""
_FLOATS = ("float", "double", "long double", "__float128")


class Malformed(Exception):
    """A text that is no mangled name, or one that nests too deeply."""


@cython.final
@cython.cclass
class Node:
    """A part of a name. ``shown`` remembers its text: what stands before and behind what it is said of."""

    kind = cython.declare(cython.int, visibility="public")
    text = cython.declare(str, visibility="public")
    a = cython.declare(object, visibility="public")
    b = cython.declare(object, visibility="public")
    shown = cython.declare(object, visibility="public")


@cython.cfunc
def _node(kind: cython.int, text: str = "", a: Any = None, b: Any = None) -> Node:
    """A node of these parts."""
    node: Node = Node.__new__(Node)
    node.kind = kind
    node.text = text
    node.a = a
    node.b = b
    return node


@cython.cfunc
def _is_this(node: Node) -> bool:
    """Whether a node is a member function's name with its qualifiers."""
    return node.kind == CV and node.b is not None


@cython.final
@cython.cclass
class Parser:
    """Reads one mangled name."""

    text: str
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    depth: cython.int
    known: list[Node]
    arguments: list[Node] | None
    waiting: list[tuple[int, Node]]
    last: str
    in_lambda: cython.int
    in_conversion: cython.bint
    in_expression: cython.int
    several_functions: cython.bint

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.size = len(text)
        self.depth = 0
        self.known = []
        self.arguments = None
        self.waiting = []
        self.last = ""
        self.in_lambda = 0
        self.in_conversion = False
        self.in_expression = 0
        self.several_functions = False

    @cython.cfunc
    def parse(self) -> Node:
        """The whole name; raises Malformed."""
        if not self.text.startswith("_Z"):
            raise Malformed
        self.at = 2
        node = self.encoding(True)
        clones = ""
        while self.peek() == "." and (self.peek(1).islower() or self.peek(1).isdigit() or self.peek(1) == "_"):
            end = self.at + 2
            while end < self.size and (self.text[end].islower() or self.text[end].isdigit() or self.text[end] == "_"):
                end += 1
            while end + 1 < self.size and self.text[end] == "." and self.text[end + 1].isdigit():
                end += 2
                while end < self.size and self.text[end].isdigit():
                    end += 1
            clones += f" [clone {self.text[self.at : end]}]"
            self.at = end
        if self.at != self.size:
            raise Malformed
        return _node(JOINED, "", node, _node(NAME, clones)) if clones else node

    # -- text ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    def peek(self, ahead: cython.Py_ssize_t = 0) -> str:
        """A character ahead, nothing at the end."""
        at: cython.Py_ssize_t = self.at + ahead
        return self.text[at] if at < self.size else ""

    @cython.cfunc
    def take(self, wanted: str) -> bool:
        """Go past a text if it stands here."""
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    @cython.cfunc
    def need(self, wanted: str) -> None:
        """Go past a text that has to stand here."""
        if not self.take(wanted):
            raise Malformed

    @cython.cfunc
    def number(self) -> int:
        """Digits; `n` before them makes the number negative."""
        negative = self.take("n")
        start = self.at
        while self.at < self.size and "0" <= self.text[self.at] <= "9" and self.at - start < 10:
            self.at += 1
        if start == self.at:
            raise Malformed
        value = int(self.text[start : self.at])
        return -value if negative else value

    @cython.cfunc
    def compact(self) -> int:
        """`_` is 0, `0_` is 1 and so on."""
        if self.take("_"):
            return 0
        value = self.number()
        if value < 0:
            raise Malformed
        self.need("_")
        return value + 1

    @cython.cfunc
    def deeper(self) -> None:
        """One level more."""
        self.depth += 1
        if self.depth > DEPTH:
            raise Malformed

    # -- encodings and names ------------------------------------------------------------------------------------

    @cython.cfunc
    def encoding(self, outermost: bool) -> Node:
        """A function, a variable, or something special about one."""
        self.deeper()
        outer, waiting = self.arguments, self.waiting
        self.arguments, self.waiting = None, []
        node = self._encoding(outermost)
        self.resolve()
        self.arguments, self.waiting = outer, waiting
        self.depth -= 1
        return node

    @cython.cfunc
    def _encoding(self, outermost: bool) -> Node:
        c = self.peek()
        if c == "G" or c == "T":
            return self.special()
        name = self.name(True)
        self.resolve()
        c = self.peek()
        if c == "" or c == "E":
            return name
        returns = _returns(name)
        if self.take("J"):
            returns = True
        kind = self.type() if returns else None
        function = _node(FUNCTION, "", kind if outermost else None, self.parameters())
        return _node(ENCODING, "", name, function)

    @cython.cfunc
    def resolve(self) -> None:
        """Parameters that were named before the arguments, as in conversion operators."""
        for index, node in self.waiting:
            if self.arguments is not None and index < len(self.arguments):
                node.a = self.arguments[index]
            elif node.kind != GENERIC and node.a is None:
                raise Malformed
        self.waiting = []

    @cython.cfunc
    def special(self) -> Node:
        """Tables, thunks, guards."""
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code in _SPECIAL:
            return _node(PREFIXED, _SPECIAL[code], self.type())
        if code in _OF_NAMES:
            return _node(PREFIXED, _OF_NAMES[code], self.name(False))
        if code == "Th" or code == "Tv":
            self.at -= 1
            self.call_offset()
            return _node(
                PREFIXED, "non-virtual thunk to " if code == "Th" else "virtual thunk to ", self.encoding(False)
            )
        if code == "Tc":
            self.call_offset()
            self.call_offset()
            return _node(PREFIXED, "covariant return thunk to ", self.encoding(False))
        if code == "TC":
            derived = self.type()
            self.number()
            self.need("_")
            return _node(PREFIXED, "construction vtable for ", _node(JOINED, "-in-", self.type(), derived))
        if code == "TA":
            return _node(PREFIXED, "template parameter object for ", self.argument())
        if code == "GR":
            name = self.name(False)
            number = 0 if self.peek() == "" else self.compact()
            return _node(PREFIXED, f"reference temporary #{number} for ", name)
        if code == "GA":
            return _node(PREFIXED, "hidden alias for ", self.encoding(False))
        if code == "GT":
            kind = self.peek()
            self.at += 1
            return _node(
                PREFIXED,
                "non-transaction clone for " if kind == "n" else "transaction clone for ",
                self.encoding(False),
            )
        raise Malformed

    @cython.cfunc
    def call_offset(self) -> None:
        """What a thunk adds to `this`."""
        if self.take("h"):
            self.number()
        else:
            self.need("v")
            self.number()
            self.need("_")
            self.number()
        self.need("_")

    @cython.cfunc
    def name(self, own: bool) -> Node:
        """A name; ``own``: the arguments of its last template are those that parameters stand for."""
        self.deeper()
        c = self.peek()
        if c == "N":
            node = self.nested(own)
        elif c == "Z":
            node = self.local(own)
        else:
            substituted = False
            if c == "S" and self.peek(1) != "t":
                node = self.substitution(False)
                substituted = True
            elif c == "S":
                self.at += 2
                node = _node(QUALIFIED, "", _node(NAME, "std"), self.unqualified())
            else:
                node = self.unqualified()
            if self.peek() == "I":
                if not substituted:
                    self.known.append(node)
                node = _node(TEMPLATE, "", node, self.template_arguments(own))
        self.depth -= 1
        return node

    @cython.cfunc
    def nested(self, own: bool) -> Node:
        """`N` ... `E`."""
        self.need("N")
        qualifiers: list[str] = []
        while self.peek() in ("r", "V", "K") and self.peek():
            qualifiers.append({"r": " restrict", "V": " volatile", "K": " const"}[self.peek()])
            self.at += 1
        if self.take("H"):
            pass
        reference = " &" if self.take("R") else " &&" if self.take("O") else ""
        node: Node | None = None
        while not self.take("E"):
            c = self.peek()
            substituted = c == "S" and self.peek(1) != "t"
            if c == "I":
                if node is None:
                    raise Malformed
                node = _node(TEMPLATE, "", node, self.template_arguments(own))
            elif c == "M" and node is not None:
                # A lambda in the initialiser of a member stands in the member's scope.
                self.at += 1
                continue
            else:
                if substituted:
                    part = self.substitution(True)
                elif c == "S":
                    self.at += 2
                    part = _node(NAME, "std")
                elif c == "T":
                    part = self.parameter()
                elif c == "D" and self.peek(1) in ("t", "T"):
                    part = self.type()
                    node = part
                    continue
                else:
                    part = self.unqualified()
                node = part if node is None else _node(QUALIFIED, "", node, part)
                if c == "S" and not substituted:
                    continue
            if not substituted and self.peek() != "E":
                self.known.append(node)
        if node is None:
            raise Malformed
        for qualifier in reversed(qualifiers):
            node = _node(CV, qualifier, node, node)
        return _node(CV, reference, node, node) if reference else node

    @cython.cfunc
    def local(self, own: bool) -> Node:
        """An entity inside of a function."""
        self.need("Z")
        self.several_functions = True
        function = self.encoding(False)
        self.need("E")
        if self.take("s"):
            self.discriminator()
            return _node(LOCAL, "", function, _node(NAME, "string literal"))
        default = ""
        if self.take("d"):
            default = f"{{default arg#{self.compact() + 1}}}::"
        node = self.name(own)
        if node.kind != LAMBDA:
            self.discriminator()
        return _node(LOCAL, default, function, node)

    @cython.cfunc
    def discriminator(self) -> None:
        """Which of several entities of a name it is."""
        if self.peek() != "_":
            return
        self.at += 1
        if self.take("_"):
            self.number()
            self.need("_")
        elif self.peek().isdigit():
            self.number()

    @cython.cfunc
    def unqualified(self) -> Node:
        """A name without scopes."""
        c = self.peek()
        if "0" <= c <= "9":
            node = self.source_name()
        elif "a" <= c <= "z":
            self.take("on")
            node = self.operator()
            if node.kind == OPERATOR and node.b == "li":
                node = _node(NAME, 'operator"" ' + self.source_name().text)
        elif c == "C" or (c == "D" and self.peek(1) != "C"):
            node = self.constructor()
        elif c == "D":
            self.at += 2
            parts = []
            while not self.take("E"):
                parts.append(self.source_name())
            node = _node(BRACED, "[]", None, _node(LIST, "", parts))
        elif c == "L":
            self.at += 1
            node = self.source_name()
            self.discriminator()
        elif c == "U":
            node = self.unnamed()
        else:
            raise Malformed
        while self.peek() == "B":
            self.at += 1
            last = self.last
            node = _node(TAGGED, self.source_name().text, node)
            self.last = last
        return node

    @cython.cfunc
    def source_name(self) -> Node:
        """A length and as many characters."""
        length = self.number()
        if length <= 0 or self.at + length > self.size:
            raise Malformed
        text = self.text[self.at : self.at + length]
        self.at += length
        if length >= 10 and text.startswith("_GLOBAL_") and text[8] in "._$" and text[9] == "N":
            text = "(anonymous namespace)"
        self.last = text
        return _node(NAME, text)

    @cython.cfunc
    def constructor(self) -> Node:
        """A constructor or destructor: the name before it once more."""
        kind, variant = self.peek(), self.peek(1)
        self.at += 2
        if kind == "C" and variant == "I":
            # An inherited constructor: the name is that of the class it is of.
            self.at += 1
            self.type()
        elif variant not in ("1", "2", "3", "4", "5", "0"):
            raise Malformed
        return _node(CONSTRUCTOR, self.last if kind == "C" else "~" + self.last)

    @cython.cfunc
    def unnamed(self) -> Node:
        """A lambda or a type without a name."""
        if self.take("Ul"):
            self.in_lambda += 1
            parameters = self.parameters()
            self.in_lambda -= 1
            self.need("E")
            return _node(LAMBDA, f"#{self.compact() + 1}}}", None, parameters)
        self.need("Ut")
        return _node(LAMBDA, f"{{unnamed type#{self.compact() + 1}}}")

    @cython.cfunc
    def operator(self) -> Node:
        """An operator; the code is in b."""
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code == "cv":
            if self.in_expression:
                return _node(CAST, "", self.type())
            was = self.in_conversion
            self.in_conversion = True
            last = self.last
            kind = self.type()
            self.last = last
            self.in_conversion = was
            return _node(CONVERSION, "", kind)
        if code[:1] == "v" and code[1:].isdigit():
            return _node(OPERATOR, self.source_name().text, int(code[1:]), code)
        found = OPERATORS.get(code)
        if found is None:
            raise Malformed
        return _node(OPERATOR, found[0], found[1], code)

    @cython.cfunc
    def substitution(self, prefix: bool) -> Node:
        """What was said before, or a part of the standard library."""
        self.need("S")
        c = self.peek()
        if c == "_" or "0" <= c <= "9" or "A" <= c <= "Z":
            index = 0
            if c != "_":
                while self.peek() != "_":
                    c = self.peek()
                    if not ("0" <= c <= "9" or "A" <= c <= "Z") or index > 100_000:
                        raise Malformed
                    index = index * 36 + int(c, 36)
                    self.at += 1
                index += 1
            self.at += 1
            if index >= len(self.known):
                raise Malformed
            found = self.known[index]
            return self.bound(found, 0) if self.several_functions else found  # type: ignore[return-value]
        standard = STANDARDS.get(c)
        if standard is None:
            raise Malformed
        self.at += 1
        full = prefix and self.peek() in ("C", "D")
        self.last = standard[2]
        node = _node(STANDARD, standard[1] if full else standard[0])
        if self.peek() == "B":
            while self.take("B"):
                last = self.last
                node = _node(TAGGED, self.source_name().text, node)
                self.last = last
            self.known.append(node)
        return node

    # -- types --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def parameters(self) -> Node:
        """The types of a function's parameters."""
        found = []
        while True:
            c = self.peek()
            if c in ("", "E", ".") or (c in ("R", "O") and self.peek(1) == "E"):
                break
            found.append(self.type())
        if not found:
            raise Malformed
        if len(found) == 1 and found[0].kind == NAME and found[0].text == "void":
            found = []
        return _node(LIST, "", found)

    @cython.cfunc
    def type(self) -> Node:
        """A type."""
        self.deeper()
        node = self._type()
        self.depth -= 1
        return node

    @cython.cfunc
    def _type(self) -> Node:
        c = self.peek()
        if c in BUILTIN:
            self.at += 1
            return _node(NAME, BUILTIN[c])
        after = self.peek(1)
        if c in ("r", "V", "K") or (c == "D" and after in ("x", "o", "O", "w")):
            node = self.qualified()
        elif c == "u":
            self.at += 1
            node = self.source_name()
            if self.peek() == "I":
                node = _node(TEMPLATE, "", node, self.template_arguments(False))
        elif c == "F":
            node = self.function("")
        elif c == "A":
            node = self.array()
        elif c == "M":
            self.at += 1
            of = self.type()
            node = _node(MEMBER, "", of, self.type())
        elif c == "T":
            node = self.parameter()
            if self.peek() == "I":
                node = self.applied(node)
        elif c == "P" or c == "R" or c == "O":
            self.at += 1
            node = _node(POINTER, "*" if c == "P" else "&" if c == "R" else "&&", self.type())
        elif c == "C" or c == "G":
            self.at += 1
            node = _node(CV, " _Complex" if c == "C" else " _Imaginary", self.type())
        elif c == "U":
            self.at += 1
            name = self.source_name()
            if self.peek() == "I":
                name = _node(TEMPLATE, "", name, self.template_arguments(False))
            node = _node(JOINED, " ", self.type(), name)
        elif c == "D":
            if after in ("t", "T"):
                self.at += 2
                node = _node(DECLTYPE, "", self.expression())
                self.need("E")
            elif after == "p":
                self.at += 2
                node = _node(EXPANSION, "", self.type())
            elif after == "v":
                self.at += 2
                size = self.array_size()
                self.need("_")
                node = _node(VECTOR, "", size, self.type())
            elif after == "F":
                self.at += 2
                bits = self.number()
                tail = "" if self.take("_") else self.peek()
                if tail:
                    self.at += 1
                return _node(NAME, f"_Float{bits}{tail}")
            elif after in LATER:
                self.at += 2
                return _node(NAME, LATER[after])
            else:
                raise Malformed
        elif c == "S" and (after == "_" or "0" <= after <= "9" or "A" <= after <= "Z"):
            node = self.substitution(False)
            if self.peek() != "I":
                return node
            node = self.applied(node)
            if node.kind != TEMPLATE:
                return node
        elif c == "N" or c == "Z" or c == "S" or "0" <= c <= "9":
            node = self.name(False)
            if node.kind == STANDARD:
                return node
        else:
            raise Malformed
        self.known.append(node)
        return node

    @cython.cfunc
    def applied(self, node: Node) -> Node:
        """A template parameter or a substitution with template arguments behind it."""
        if self.in_conversion and node.kind == FORWARD:
            # The arguments may be those of the conversion operator itself: so they are if no more follow.
            at, count, last = self.at, len(self.known), self.last
            arguments = self.template_arguments(False)
            if self.peek() != "I":
                self.at, self.last = at, last
                del self.known[count:]
                return node
            return _node(TEMPLATE, "", node, arguments)
        return _node(TEMPLATE, "", node, self.template_arguments(False))

    @cython.cfunc
    def qualified(self) -> Node:
        """A type with qualifiers before it; before a function they are said of `this`."""
        found: list[tuple[str, Node | None]] = []
        while True:
            c = self.peek()
            if c in ("r", "V", "K") and c:
                self.at += 1
                found.append(({"r": " restrict", "V": " volatile", "K": " const"}[c], None))
            elif c == "D" and self.peek(1) in ("x", "o", "O", "w"):
                kind = self.peek(1)
                self.at += 2
                if kind == "O":
                    found.append((" noexcept", self.expression()))
                    self.need("E")
                elif kind == "w":
                    thrown = self.parameters()
                    self.need("E")
                    found.append((" throw", thrown))
                else:
                    found.append((" transaction_safe" if kind == "x" else " noexcept", None))
            else:
                break
        if self.peek() == "F":
            tail = ""
            extra = None
            for text, part in reversed(found):
                tail += text
                extra = part or extra
            node = self.function(tail)
            if extra is not None:
                node.b = _node(JOINED, " noexcept", node.b, extra)
                node.text = node.text.replace(" noexcept", "")
            return node
        node = self.type()
        for text, _part in reversed(found):
            node = _node(CV, text, node)
        return node

    @cython.cfunc
    def function(self, tail: str) -> Node:
        """`F` ... `E`."""
        self.need("F")
        self.take("Y")
        returned = self.type()
        parameters = self.parameters()
        reference = " &" if self.take("R") else " &&" if self.take("O") else ""
        self.need("E")
        return _node(FUNCTION, tail + reference, returned, parameters)

    @cython.cfunc
    def array_size(self) -> Node | None:
        """Digits, an expression or nothing."""
        c = self.peek()
        if c == "_":
            return None
        if "0" <= c <= "9":
            return _node(NAME, str(self.number()))
        return self.expression()

    @cython.cfunc
    def array(self) -> Node:
        """`A` size `_` element."""
        self.need("A")
        size = self.array_size()
        self.need("_")
        return _node(ARRAY, "", size, self.type())

    @cython.cfunc
    def parameter(self) -> Node:
        """A template parameter: its argument, where that is known already."""
        self.need("T")
        index = self.compact()
        if self.in_lambda:
            # GNU spells the parameters of generic lambdas so; as a substitution the node is the enclosing template's.
            node = _node(GENERIC, f"auto:{index + 1}")
            self.waiting.append((index, node))
            return node
        return self.meant(index, None)

    @cython.cfunc
    def meant(self, index: int, otherwise: Any) -> Node:
        """A template parameter in what is being read; ``otherwise`` what it stands for where there is no such one."""
        node = _node(FORWARD, str(index), otherwise, self.arguments)
        if self.arguments is not None and index < len(self.arguments) and not self.in_conversion:
            node.a = self.arguments[index]
        else:
            self.waiting.append((index, node))
        return node

    @cython.cfunc
    def bound(self, node: object, depth: int) -> object:
        """A part of what was said inside of another function, where parameters meant other arguments."""
        if isinstance(node, list):
            made = [self.bound(one, depth + 1) for one in node]
            return node if all(one is other for one, other in zip(node, made, strict=True)) else made
        if not isinstance(node, Node) or depth > DEPTH:
            return node
        if node.kind == FORWARD:
            # The parameters of a lambda speak of the function around it.
            known = node.b is self.arguments or (self.in_lambda and node.a is not None)
            return node if known else self.meant(int(node.text), node.a)
        if node.kind == PACK or node.kind == LAMBDA or node.kind == LOCAL or node.kind == ENCODING:
            return node
        a, b = self.bound(node.a, depth + 1), self.bound(node.b, depth + 1)
        if a is node.a and b is node.b:
            return node
        return _node(node.kind, node.text, a, a if node.b is node.a else b)

    @cython.cfunc
    def template_arguments(self, own: bool) -> Node:
        """`I` ... `E`."""
        self.deeper()
        last = self.last
        if not self.take("I") and not self.take("J"):
            raise Malformed
        found: list[Node] = []
        meant: list[Node] = []
        if own:
            self.arguments = meant
        while not self.take("E"):
            is_pack = self.peek() == "J" or self.peek() == "I"
            node = self.argument()
            found.append(node)
            if own:
                meant.append(_node(PACK, "", node.a) if is_pack else node)
        self.last = last
        self.depth -= 1
        return _node(LIST, "", found)

    @cython.cfunc
    def argument(self) -> Node:
        """One template argument."""
        c = self.peek()
        if c == "X":
            self.at += 1
            node = self.expression()
            self.need("E")
            return node
        if c == "L":
            return self.literal()
        if c == "I" or c == "J":
            return self.template_arguments(False)
        return self.type()

    # -- expressions --------------------------------------------------------------------------------------------

    @cython.cfunc
    def expression(self) -> Node:
        """An expression."""
        self.deeper()
        self.in_expression += 1
        was, self.in_conversion = self.in_conversion, False
        node = self._expression()
        self.in_conversion = was
        self.in_expression -= 1
        self.depth -= 1
        return node

    @cython.cfunc
    def named(self) -> Node:
        """An unqualified name with arguments, where it has some."""
        self.take("on")
        node = self.unqualified()
        return _node(TEMPLATE, "", node, self.template_arguments(False)) if self.peek() == "I" else node

    @cython.cfunc
    def scope(self) -> Node:
        """What stands before the `::` of a name that depends on template parameters."""
        node: Node | None = None
        if not "0" <= self.peek() <= "9":
            return self.type()
        while not self.take("E"):
            part = self.named()
            node = part if node is None else _node(QUALIFIED, "", node, part)
        if node is None:
            raise Malformed
        return node

    @cython.cfunc
    def several(self, end: str) -> Node:
        """Expressions up to an end."""
        found = []
        while not self.take(end):
            found.append(self.expression())
        return _node(LIST, "", found)

    @cython.cfunc
    def _expression(self) -> Node:
        c, after = self.peek(), self.peek(1)
        if c == "L":
            return self.literal()
        if c == "T":
            return self.parameter()
        if c == "s" and after == "r":
            self.at += 2
            scope = self.scope()
            self.take("on")
            node = _node(QUALIFIED, "", scope, self.unqualified())
            return _node(TEMPLATE, "", node, self.template_arguments(False)) if self.peek() == "I" else node
        if c == "s" and after == "p":
            self.at += 2
            return _node(EXPANSION, "", self.expression())
        if c == "f" and after == "p":
            self.at += 2
            if self.take("T"):
                return _node(PARAMETER, "this")
            while self.peek() in ("r", "V", "K") and self.peek():
                self.at += 1
            return _node(PARAMETER, f"{{parm#{self.compact() + 1}}}")
        if "0" <= c <= "9" or (c == "o" and after == "n"):
            return self.named()
        if (c == "i" or c == "t") and after == "l":
            self.at += 2
            kind = self.type() if c == "t" else None
            return _node(BRACED, "{}", kind, self.several("E"))
        if c == "u":
            self.at += 1
            name = self.source_name()
            found = []
            while not self.take("E"):
                found.append(self.argument())
            return _node(BRACED, "()", name, _node(LIST, "", found))
        return self.operation()

    @cython.cfunc
    def operation(self) -> Node:
        """An operator and its operands."""
        op = self.operator()
        if op.kind == CAST:
            operand = self.several("E") if self.take("_") else self.expression()
            return _node(UNARY, "", op, operand)
        code = str(op.b)
        count = op.a
        if code in ("st", "at", "ti"):
            return _node(UNARY, "", op, self.type())
        if count == 0:
            return _node(UNARY, "", op)
        if count == 1:
            if code == "sP":
                found = []
                while not self.take("E"):
                    found.append(self.argument())
                return _node(UNARY, "", op, _node(LIST, "", found))
            suffix = code in ("pp", "mm") and not self.take("_")
            return _node(UNARY, "suffix" if suffix else "", op, self.expression())
        if code[:1] == "f":
            inner = self.operator()
            operands = [self.expression() for _ in range(int(count) - 1)]
            return _node(FOLD, code, inner, _node(LIST, "", operands))
        if code == "cl":
            called = self.expression()
            return _node(BINARY, code, op, _node(LIST, "", [called, self.several("E")]))
        if code in ("dt", "pt"):
            left = self.expression()
            self.take("gs")
            right = self.expression() if self.peek() == "s" else self.named()
            return _node(BINARY, code, op, _node(LIST, "", [left, right]))
        if code in ("sc", "dc", "cc", "rc"):
            kind = self.type()
            return _node(BINARY, "cast", op, _node(LIST, "", [kind, self.expression()]))
        if code in ("nw", "na"):
            placed = self.several("_")
            kind = self.type()
            start: Node | None = None
            if self.take("pi"):
                start = _node(BRACED, "()", None, self.several("E"))
            elif self.peek() == "i" and self.peek(1) == "l":
                start = self.expression()
            else:
                self.need("E")
            return _node(NEW, op.text, placed, [kind, start])
        operands = [self.expression() for _ in range(int(count))]
        return _node(BINARY if count == 2 else TERNARY, code, op, _node(LIST, "", operands))

    @cython.cfunc
    def literal(self) -> Node:
        """`L` ... `E`."""
        self.need("L")
        if self.peek() == "_" or self.peek() == "Z":
            self.take("_")
            self.need("Z")
            node = self.encoding(True)
            self.need("E")
            return node
        was, self.in_conversion = self.in_conversion, False
        kind = self.type()
        self.in_conversion = was
        if self.take("E"):
            # Null pointers and lambdas say no value.
            return kind if kind.kind == NAME else _node(LITERAL, "", kind)
        start = self.at
        end = self.text.find("E", start)
        if end < 0:
            raise Malformed
        self.at = end + 1
        text = self.text[start:end]
        return _node(LITERAL, "-" + text[1:] if text[:1] == "n" else text, kind)


@cython.cfunc
def _returns(name: Node) -> bool:
    """Whether a function's mangled type begins with what it returns: templates do, but for constructors and
    conversions."""
    while _is_this(name):
        name = name.a
    if name.kind == LOCAL:
        return _returns(name.b)
    if name.kind != TEMPLATE:
        return False
    inner = name.a
    while inner.kind in (QUALIFIED, LOCAL, TAGGED):
        inner = inner.a if inner.kind == TAGGED else inner.b
    return inner.kind not in (CONSTRUCTOR, CONVERSION)


@cython.final
@cython.cclass
class Speller:
    """Spells nodes of one name. ``most`` bounds the length of every part's text."""

    most: cython.Py_ssize_t
    depth: cython.int
    steps: cython.int
    index: cython.Py_ssize_t
    in_lambda: cython.int

    def __init__(self, most: int) -> None:
        self.in_lambda = 0
        self.most = most
        self.depth = 0
        self.steps = 0
        self.index = -1

    @cython.cfunc
    def text(self, node: Node) -> str:
        """The whole text of a node."""
        before, behind = self.parts(node)
        return before + behind

    @cython.cfunc
    def parts(self, node: Node) -> tuple[str, str]:
        """What stands before a declared thing, and what behind it."""
        if node.shown is not None and not self.in_lambda:
            return node.shown  # type: ignore[no-any-return]
        self.steps += 1
        self.depth += 1
        if self.depth > SPELLED or self.steps > STEPS:
            raise Malformed
        found: tuple[str, str] = self._parts(node)
        if len(found[0]) + len(found[1]) > self.most:
            raise Malformed
        self.depth -= 1
        if self.index < 0 and not self.in_lambda:
            # Inside of an expansion the text depends on which element it is for, in lambdas parameters are generic.
            node.shown = found
        return found

    @cython.cfunc
    def _parts(self, node: Node) -> tuple[str, str]:
        kind: cython.int = node.kind
        if kind in (NAME, STANDARD, CONSTRUCTOR, PARAMETER):
            return node.text, ""
        if kind == QUALIFIED:
            return f"{self.text(node.a)}::{self.text(node.b)}", ""
        if kind == TEMPLATE:
            return self.template(node), ""
        if kind == POINTER:
            return self.pointer(node)
        if kind == CV:
            return self.qualified(node)
        if kind == PACK and 0 <= self.index < len(node.a):
            return self.parts(node.a[self.index])
        if kind in (LIST, PACK):
            return self.listed(node.a), ""
        if kind == FUNCTION:
            return self.function(node)
        if kind == ENCODING:
            return self.encoding(node), ""
        if kind == LOCAL:
            return self.scoped(node)
        if kind == MEMBER:
            return self.member(node)
        if kind == ARRAY:
            before, behind = self.parts(node.b)
            size = self.text(node.a) if node.a is not None else ""
            return before, f" [{size}]{behind[1:] if self.declared(node.b).kind == ARRAY else behind}"
        if kind == GENERIC and (self.in_lambda or node.a is None):
            return node.text, ""
        if kind in (FORWARD, GENERIC):
            if node.a is None:
                raise Malformed
            return self.parts(node.a)
        if kind == EXPANSION:
            return self.expansion(node), ""
        return self.rest(node), ""

    @cython.cfunc
    def rest(self, node: Node) -> str:
        """What is rarer."""
        kind: cython.int = node.kind
        if kind == TAGGED:
            return f"{self.text(node.a)}[abi:{node.text}]"
        if kind == LAMBDA:
            if node.b is None:
                return str(node.text)
            self.in_lambda += 1
            parameters = self.text(node.b)
            self.in_lambda -= 1
            return f"{{lambda({parameters}){node.text}"
        if kind == OPERATOR:
            return f"operator{' ' if node.text[:1].islower() else ''}{node.text.rstrip(' ')}"
        if kind == CONVERSION:
            return f"operator {self.text(node.a)}"
        if kind == PREFIXED:
            return f"{node.text}{self.text(node.a)}"
        if kind == JOINED:
            return f"{self.text(node.a)}{node.text}{self.text(node.b)}"
        if kind == VECTOR:
            return f"{self.text(node.b)} __vector({self.text(node.a) if node.a is not None else ''})"
        if kind == DECLTYPE:
            return f"decltype ({self.text(node.a)})"
        return self.expression(node)

    # -- declarations -------------------------------------------------------------------------------------------

    @cython.cfunc
    def listed(self, items: list[Node]) -> str:
        """Items with commas, none before what has no text."""
        found = ""
        for item in reversed(items):
            one = self.text(item)
            found = f"{one}, {found}" if found else one
            if len(found) > self.most:
                raise Malformed
        return found

    @cython.cfunc
    def template(self, node: Node) -> str:
        """name<arguments>."""
        name = self.text(node.a)
        arguments = self.text(node.b)
        space = " " if name.endswith("<") else ""
        # GNU keeps closing brackets apart, but where an empty pack stood between them.
        apart = arguments.endswith(">") and not self.ends_empty(node.b)
        return f"{name}{space}<{arguments}{' ' if apart else ''}>"

    @cython.cfunc
    def ends_empty(self, node: Node) -> bool:
        """Whether the last of several items has no text."""
        items = node.a
        if not items:
            return False
        last = self.element(items[len(items) - 1])
        if len(items) > 1 and not self.text(last):
            return True
        return last.kind in (LIST, PACK) and self.ends_empty(last)

    @cython.cfunc
    def qualified(self, node: Node) -> tuple[str, str]:
        """A type with its qualifiers, each said once."""
        texts = [node.text]
        inner: Node = self.element(node.a)
        while node.b is None and inner.kind == CV and inner.b is None:
            if inner.text not in texts:
                texts.append(inner.text)
            inner = self.element(inner.a)
        before, behind = self.parts(inner)
        tail = "".join(reversed(texts))
        return (before, behind + tail) if _is_function(inner) else (before + tail, behind)

    @cython.cfunc
    def element(self, node: Node) -> Node:
        """A node, or the element of a pack that is to be spelled now."""
        while node.kind == FORWARD and node.a is not None:
            node = node.a
        if node.kind == GENERIC and node.a is not None and not self.in_lambda:
            return self.element(node.a)
        if node.kind == PACK and self.index >= 0 and self.index < len(node.a):
            return self.element(node.a[self.index])
        return node

    @cython.cfunc
    def declared(self, node: Node) -> Node:
        """The type itself behind qualifiers: functions and arrays are spelled around a pointer to them."""
        node = self.element(node)
        while node.kind == CV and node.b is None:
            node = self.element(node.a)
        return node

    @cython.cfunc
    def pointer(self, node: Node) -> tuple[str, str]:
        """Pointers and references; references to references are one."""
        mark = node.text
        to: Node = self.element(node.a)
        while mark != "*" and to.kind == POINTER and to.text != "*":
            mark = "&" if mark == "&" or to.text == "&" else "&&"
            to = self.element(to.a)
        before, behind = self.parts(to)
        held = self.declared(to)
        if held.kind == FUNCTION:
            return f"{before}({mark}", f"){behind}"
        if held.kind == ARRAY:
            return f"{before} ({mark}", f"){behind}"
        return before + mark, behind

    @cython.cfunc
    def member(self, node: Node) -> tuple[str, str]:
        """Pointers to members."""
        before, behind = self.parts(node.b)
        of = self.text(node.a)
        held = self.declared(node.b)
        if held.kind == FUNCTION:
            return f"{before}({of}::*", f"){behind}"
        if held.kind == ARRAY:
            return f"{before} ({of}::*", f"){behind}"
        return f"{before} {of}::*", behind

    @cython.cfunc
    def function(self, node: Node) -> tuple[str, str]:
        """A function type."""
        parameters = node.b
        throws = ""
        if parameters.kind == JOINED:
            throws = f"{parameters.text}({self.text(parameters.b)})"
            parameters = parameters.a
        behind = f"({self.text(parameters)}){throws}{node.text}"
        if node.a is None:
            return "", behind
        before, after = self.parts(node.a)
        return (before if after else before + " "), behind + after

    @cython.cfunc
    def encoding(self, node: Node) -> str:
        """A function: its name amid its type."""
        qualifiers = ""
        name: Node = node.a
        while name.kind == CV and name.b is not None:
            qualifiers = name.text + qualifiers
            name = name.a
        before, behind = self.parts(node.b)
        text = self.text(name)
        if name.kind == LOCAL:
            inner: Node = name.b
            while inner.kind == CV and inner.b is not None:
                qualifiers = inner.text + qualifiers
                inner = inner.a
            text = self.text(name.a) + "::" + name.text + self.text(inner)
        own = f"({self.text(node.b.b)})"
        return before + text + own + qualifiers + behind[len(own) :]

    @cython.cfunc
    def scoped(self, node: Node) -> tuple[str, str]:
        """Something inside of a function."""
        return f"{self.text(node.a)}::{node.text}{self.text(node.b)}", ""

    @cython.cfunc
    def expansion(self, node: Node) -> str:
        """A pattern once for each element of the pack in it."""
        pack = _pack(node.a, 0)
        if pack is None:
            return f"{self.operand(node.a)}..." if node.a.kind != NAME else f"({self.text(node.a)})..."
        was: cython.Py_ssize_t = self.index
        found = []
        for i in range(len(pack.a)):
            self.index = i
            found.append(self.text(self.element(node.a)))
            if sum(map(len, found)) > self.most:
                raise Malformed
        self.index = was
        return ", ".join(found)

    # -- expressions --------------------------------------------------------------------------------------------

    @cython.cfunc
    def operand(self, node: Node) -> str:
        """A part of an expression, in brackets unless it is simple."""
        text = self.text(node)
        return text if _is_simple(node) else f"({text})"

    @cython.cfunc
    def expression(self, node: Node) -> str:
        """An expression."""
        kind: cython.int = node.kind
        if kind == LITERAL:
            return self.literal(node)
        if kind == UNARY:
            return self.unary(node)
        if kind == BINARY:
            return self.binary(node)
        if kind == TERNARY:
            items = node.b.a
            return f"{self.operand(items[0])}{node.a.text}{self.operand(items[1])} : {self.operand(items[2])}"
        if kind == CAST:
            return f"operator {self.text(node.a)}"
        if kind == BRACED:
            start = self.text(node.a) if node.a is not None else ""
            return f"{start}{node.text[0]}{self.text(node.b)}{node.text[1]}"
        if kind == FOLD:
            items = [self.operand(one) for one in node.b.a]
            mark = node.a.text
            if node.text == "fl":
                return f"(...{mark}{items[0]})"
            if node.text == "fr":
                return f"({items[0]}{mark}...)"
            return f"({items[0]}{mark}...{mark}{items[1]})"
        if kind == NEW:
            placed = self.text(node.a)
            start = self.text(node.b[1]) if node.b[1] is not None else ""
            return f"{node.text} {f'({placed}) ' if placed else ''}{self.text(node.b[0])}{start}"
        raise Malformed

    @cython.cfunc
    def literal(self, node: Node) -> str:
        """A value, with its type where the text does not tell it."""
        kind = self.text(node.a)
        if node.a.kind == NAME:
            if kind == "bool" and node.text in ("0", "1"):
                return "true" if node.text == "1" else "false"
            if kind in _SUFFIXES:
                return f"{node.text}{_SUFFIXES[kind]}"
            if kind in _FLOATS:
                return f"({kind})[{node.text}]"
        return f"({kind}){node.text}"

    @cython.cfunc
    def unary(self, node: Node) -> str:
        """Prefix, suffix, sizeof and casts."""
        op: Node = node.a
        if op.kind == CAST:
            return f"({self.text(op.a)}){self.operand(node.b)}"
        if node.b is None:
            return str(op.text)
        code = str(op.b)
        operand: Node = node.b
        if node.text == "suffix":
            return f"{self.operand(operand)}{op.text}"
        if code == "ad" and operand.kind == ENCODING and operand.a.kind == QUALIFIED:
            operand = operand.a
        if code == "sZ" or code == "sP":
            pack = _pack(operand, 0) if code == "sZ" else operand
            if pack is not None:
                return str(len(pack.a))
        if code == "gs":
            return f"{op.text}{self.text(operand)}"
        if code in ("st", "nx"):
            return f"{op.text}({self.text(operand)})"
        return f"{op.text}{self.operand(operand)}"

    @cython.cfunc
    def binary(self, node: Node) -> str:
        """Two operands, calls, subscripts and named casts."""
        left, right = node.b.a
        if node.text == "cast":
            return f"{node.a.text}<{self.text(left)}>({self.text(right)})"
        if node.text == "cl":
            called = self.operand(left.a if left.kind == ENCODING else left)
            return f"{called}({self.text(right)})"
        if node.text == "ix":
            return f"{self.operand(left)}[{self.text(right)}]"
        found = f"{self.operand(left)}{node.a.text}{self.operand(right)}"
        return f"({found})" if node.a.text == ">" else found


@cython.cfunc
def _is_simple(node: Node) -> bool:
    while node.kind == FORWARD and node.a is not None:
        node = node.a
    return node.kind in (NAME, QUALIFIED, BRACED, PARAMETER)


@cython.cfunc
def _is_function(node: Node) -> bool:
    while node.kind == FORWARD and node.a is not None:
        node = node.a
    return node.kind == FUNCTION or (node.kind == CV and node.b is None and _is_function(node.a))


@cython.cfunc
def _pack(node: object, depth: int) -> Node | None:
    """The first argument pack in a pattern."""
    if depth > _FAR or not isinstance(node, Node) or node.kind == EXPANSION or node.kind == LAMBDA:
        return None
    if node.kind == PACK:
        return node
    for part in node.a if node.kind == LIST else (node.a, node.b):
        found = _pack(part, depth + 1)
        if found is not None:
            return found
    return None


def demangled(symbol: str, most: int) -> str | None:
    """The name a symbol stands for; None where it is none, or one of more than ``most`` characters."""
    try:
        return Speller(most).text(Parser(symbol).parse())
    except (Malformed, RecursionError):
        return None
