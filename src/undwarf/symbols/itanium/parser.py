# cython: language_level=3
"""Parses a mangled C++ name into a tree.

The grammar is mutually recursive (a type contains expressions, an expression names, a name types), so it is one class
with a section for each part. A method is named after its production in the Itanium C++ ABI, "Mangling". Where real
names go beyond that or stop short of it, c++filt of binutils decides.
"""

from typing import Any

import cython
from cython.cimports.undwarf.symbols.itanium.ast import Node, has_method_qualifiers, new_node
from cython.cimports.undwarf.symbols.itanium.budget import Budget
from cython.cimports.undwarf.symbols.itanium.node_kinds import NodeKind

from undwarf.symbols.itanium.ast import Malformed

MAX_DEPTH = cython.declare(cython.int, 200)
"""Maximum nesting of a name."""

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
}  # fmt: skip  # a table
_SPECIAL: dict[str, str] = {
    "TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for ", "TF": "typeinfo fn for ",
}  # fmt: skip  # a table
_SPECIAL_OF_NAME: dict[str, str] = {
    "TH": "TLS init function for ",
    "TW": "TLS wrapper function for ",
    "GV": "guard variable for ",
}


BUILTIN: dict[str, str] = {
    "a": "signed char", "b": "bool", "c": "char", "d": "double", "e": "long double", "f": "float", "g": "__float128",
    "h": "unsigned char", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "n": "__int128",
    "o": "unsigned __int128", "s": "short", "t": "unsigned short", "v": "void", "w": "wchar_t", "x": "long long",
    "y": "unsigned long long", "z": "...",
}  # fmt: skip  # a table
LATER: dict[str, str] = {
    "a": "auto", "c": "decltype(auto)", "d": "decimal64", "e": "decimal128", "f": "decimal32", "h": "half",
    "i": "char32_t", "n": "decltype(nullptr)", "s": "char16_t", "u": "char8_t",
}  # fmt: skip  # a table
_STREAM = "<char, std::char_traits<char> >"
_STRING = "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"
STANDARD_NAMES: dict[str, tuple[str, str, str]] = {
    "a": ("std::allocator", "std::allocator", "allocator"),
    "b": ("std::basic_string", "std::basic_string", "basic_string"),
    "s": ("std::string", _STRING, "basic_string"),
    "i": ("std::istream", "std::basic_istream" + _STREAM, "basic_istream"),
    "o": ("std::ostream", "std::basic_ostream" + _STREAM, "basic_ostream"),
    "d": ("std::iostream", "std::basic_iostream" + _STREAM, "basic_iostream"),
}


@cython.final
@cython.cclass
class Parser:
    """Parses one mangled name.

    A template parameter is replaced by its argument when it is read, so that a node means the same wherever a
    substitution repeats it.
    """

    text = cython.declare(str)
    position = cython.declare(cython.Py_ssize_t)
    size = cython.declare(cython.Py_ssize_t)
    depth = cython.declare(cython.int)
    budget: Budget
    substitutions: list[Node]
    """The components that `S_`, `S0_` and so on repeat."""
    template_args: Any
    """The arguments of template parameters: a list of nodes, None while they are unknown."""
    forward_references: list[tuple[int, Node]]
    """Parameters read before their arguments, as (number, node)."""
    last_name = cython.declare(str)
    """The identifier read last, which a constructor repeats."""
    in_lambda = cython.declare(cython.int)
    in_conversion = cython.declare(cython.bint)
    in_expression = cython.declare(cython.int)
    may_rebind = cython.declare(cython.bint)
    """Whether a substitution may have been read inside another function, whose template arguments differ."""

    def __init__(self, text: str, budget: Budget) -> None:
        self.text = text
        self.budget = budget
        self.position = 0
        self.size = len(text)
        self.depth = 0
        self.substitutions = []
        self.template_args = None
        self.forward_references = []
        self.last_name = ""
        self.in_lambda = 0
        self.in_conversion = False
        self.in_expression = 0
        self.may_rebind = False

    @cython.cfunc
    def parse(self) -> Node:
        """The tree of the whole name. Raises Malformed, Exhausted."""
        if not self.text.startswith("_Z"):
            raise Malformed
        self.position = 2
        node = self.encoding(True)
        clones = ""
        while self.peek() == "." and (
            self.peek_next().islower() or self.peek_next().isdigit() or self.peek_next() == "_"
        ):
            self.budget.step()
            end = self.position + 2
            while end < self.size and (self.text[end].islower() or self.text[end].isdigit() or self.text[end] == "_"):
                end += 1
            while end + 1 < self.size and self.text[end] == "." and self.text[end + 1].isdigit():
                end += 2
                while end < self.size and self.text[end].isdigit():
                    end += 1
            clones += f" [clone {self.text[self.position : end]}]"
            self.position = end
        if self.position != self.size:
            raise Malformed
        return new_node(NodeKind.JOINED, "", node, new_node(NodeKind.NAME, clones)) if clones else node

    # -- characters, numbers, identifiers ----------------------------------------------------------------------------

    @cython.cfunc
    def peek(self) -> cython.Py_UCS4:
        """The next character, NUL at the end."""
        return self.text[self.position] if self.position < self.size else "\0"

    @cython.cfunc
    def peek_next(self) -> cython.Py_UCS4:
        """The character after the next."""
        return self.text[self.position + 1] if self.position + 1 < self.size else "\0"

    @cython.cfunc
    def accept(self, wanted: str) -> cython.bint:
        """Whether a text comes next, which is then skipped."""
        if self.peek() != wanted[0] or (len(wanted) > 1 and not self.text.startswith(wanted, self.position)):
            return False
        self.position += len(wanted)
        return True

    @cython.cfunc
    def expect(self, wanted: str) -> None:
        """Skip a text that has to come next."""
        if not self.accept(wanted):
            raise Malformed

    @cython.cfunc
    def number(self) -> cython.longlong:
        """``<number>``: at most ten digits, negative after `n`."""
        negative = self.accept("n")
        start = self.position
        while self.position < self.size and "0" <= self.text[self.position] <= "9" and self.position - start < 10:
            self.position += 1
        if start == self.position:
            raise Malformed
        value = int(self.text[start : self.position])
        return -value if negative else value

    @cython.cfunc
    def index(self) -> cython.longlong:
        """The number of a parameter or discriminator: `_` is 0, `0_` is 1 and so on."""
        if self.accept("_"):
            return 0
        value = self.number()
        if value < 0:
            raise Malformed
        self.expect("_")
        return value + 1

    @cython.cfunc
    def descend(self) -> None:
        """Count a visited node that nests one level deeper; who calls it reduces ``depth`` again."""
        self.budget.step()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed

    @cython.cfunc
    def source_name(self) -> Node:
        """``<source-name>``: a length and as many characters."""
        self.budget.step()
        length = self.number()
        if length <= 0 or self.position + length > self.size:
            raise Malformed
        text = self.text[self.position : self.position + length]
        self.position += length
        if length >= 10 and text.startswith("_GLOBAL_") and text[8] in "._$" and text[9] == "N":
            text = "(anonymous namespace)"
        self.last_name = text
        return new_node(NodeKind.NAME, text)

    # -- encodings and names -----------------------------------------------------------------------------------------

    @cython.cfunc
    def encoding(self, outermost: cython.bint) -> Node:
        """``<encoding>``: a function, a variable, or a special name; ``outermost``: with the return type."""
        self.descend()
        args, references = self.template_args, self.forward_references
        self.template_args, self.forward_references = None, []
        node = self._encoding(outermost)
        self.resolve_forward_references()
        self.template_args, self.forward_references = args, references
        self.depth -= 1
        return node

    @cython.cfunc
    def _encoding(self, outermost: cython.bint) -> Node:
        c = self.peek()
        if c == "G" or c == "T":
            return self.special_name()
        name = self.name(True)
        self.resolve_forward_references()
        c = self.peek()
        if c == "\0" or c == "E":
            return name
        returns = _returns(name)
        if self.accept("J"):
            returns = True
        kind = self.type() if returns else None
        function = new_node(NodeKind.FUNCTION, "", kind if outermost else None, self.bare_function_type())
        return new_node(NodeKind.ENCODING, "", name, function)

    @cython.cfunc
    def special_name(self) -> Node:
        """``<special-name>``: vtables, thunks, guard variables."""
        code = self.text[self.position : self.position + 2]
        self.position += 2
        if code in _SPECIAL:
            return new_node(NodeKind.PREFIXED, _SPECIAL[code], self.type())
        if code in _SPECIAL_OF_NAME:
            return new_node(NodeKind.PREFIXED, _SPECIAL_OF_NAME[code], self.name(False))
        if code == "Th" or code == "Tv":
            self.position -= 1
            self.call_offset()
            return new_node(
                NodeKind.PREFIXED,
                "non-virtual thunk to " if code == "Th" else "virtual thunk to ",
                self.encoding(False),
            )
        if code == "Tc":
            self.call_offset()
            self.call_offset()
            return new_node(NodeKind.PREFIXED, "covariant return thunk to ", self.encoding(False))
        if code == "TC":
            derived = self.type()
            self.number()
            self.expect("_")
            return new_node(
                NodeKind.PREFIXED, "construction vtable for ", new_node(NodeKind.JOINED, "-in-", self.type(), derived)
            )
        if code == "TA":
            return new_node(NodeKind.PREFIXED, "template parameter object for ", self.template_argument())
        if code == "GR":
            name = self.name(False)
            number = 0 if self.peek() == "\0" else self.index()
            return new_node(NodeKind.PREFIXED, f"reference temporary #{number} for ", name)
        if code == "GA":
            return new_node(NodeKind.PREFIXED, "hidden alias for ", self.encoding(False))
        if code == "GT":
            kind = self.peek()
            self.position += 1
            return new_node(
                NodeKind.PREFIXED,
                "non-transaction clone for " if kind == "n" else "transaction clone for ",
                self.encoding(False),
            )
        raise Malformed

    @cython.cfunc
    def call_offset(self) -> None:
        """``<call-offset>``: what a thunk adds to `this`, which is not printed."""
        if self.accept("h"):
            self.number()
        else:
            self.expect("v")
            self.number()
            self.expect("_")
            self.number()
        self.expect("_")

    @cython.cfunc
    def name(self, own: cython.bint) -> Node:
        """``<name>``; ``own``: template parameters after it refer to the arguments of its last template."""
        self.descend()
        c = self.peek()
        if c == "N":
            node = self.nested_name(own)
        elif c == "Z":
            node = self.local_name(own)
        else:
            substituted = False
            if c == "S" and self.peek_next() != "t":
                node = self.substitution(False)
                substituted = True
            elif c == "S":
                self.position += 2
                node = new_node(NodeKind.QUALIFIED, "", new_node(NodeKind.NAME, "std"), self.unqualified_name())
            else:
                node = self.unqualified_name()
            if self.peek() == "I":
                if not substituted:
                    self.substitutions.append(node)
                node = new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(own))
        self.depth -= 1
        return node

    @cython.cfunc
    def nested_name(self, own: cython.bint) -> Node:
        """``<nested-name>``: `N` ... `E`."""
        self.expect("N")
        qualifiers: list[str] = []
        while self.peek() in ("r", "V", "K"):
            self.budget.step()
            qualifiers.append({"r": " restrict", "V": " volatile", "K": " const"}[self.peek()])
            self.position += 1
        if self.accept("H"):
            pass
        reference = " &" if self.accept("R") else " &&" if self.accept("O") else ""
        node: Node | None = None
        while not self.accept("E"):
            self.budget.step()
            c = self.peek()
            substituted = c == "S" and self.peek_next() != "t"
            if c == "I":
                if node is None:
                    raise Malformed
                node = new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(own))
            elif c == "M" and node is not None:
                # A closure in the initialiser of a data member is in the scope of that member.
                self.position += 1
                continue
            else:
                if substituted:
                    part = self.substitution(True)
                elif c == "S":
                    self.position += 2
                    part = new_node(NodeKind.NAME, "std")
                elif c == "T":
                    part = self.template_param()
                elif c == "D" and self.peek_next() in ("t", "T"):
                    part = self.type()
                    node = part
                    continue
                else:
                    part = self.unqualified_name()
                node = part if node is None else new_node(NodeKind.QUALIFIED, "", node, part)
                if c == "S" and not substituted:
                    continue
            if not substituted and self.peek() != "E":
                self.substitutions.append(node)
        if node is None:
            raise Malformed
        for qualifier in reversed(qualifiers):
            node = new_node(NodeKind.CV, qualifier, node, node)
        return new_node(NodeKind.CV, reference, node, node) if reference else node

    @cython.cfunc
    def local_name(self, own: cython.bint) -> Node:
        """``<local-name>``: an entity in the scope of a function."""
        self.expect("Z")
        self.may_rebind = True
        function = self.encoding(False)
        self.expect("E")
        if self.accept("s"):
            self.discriminator()
            return new_node(NodeKind.LOCAL, "", function, new_node(NodeKind.NAME, "string literal"))
        default = ""
        if self.accept("d"):
            default = f"{{default arg#{self.index() + 1}}}::"
        node = self.name(own)
        if node.kind != NodeKind.LAMBDA:
            self.discriminator()
        return new_node(NodeKind.LOCAL, default, function, node)

    @cython.cfunc
    def discriminator(self) -> None:
        """``<discriminator>``: distinguishes entities of the same name in a function; it is not printed."""
        if self.peek() != "_":
            return
        self.position += 1
        if self.accept("_"):
            self.number()
            self.expect("_")
        elif self.peek().isdigit():
            self.number()

    @cython.cfunc
    def unqualified_name(self) -> Node:
        """``<unqualified-name>``: a name without its scopes."""
        c = self.peek()
        if "0" <= c <= "9":
            node = self.source_name()
        elif "a" <= c <= "z":
            self.accept("on")
            node = self.operator_name()
            if node.kind == NodeKind.OPERATOR and node.second == "li":
                node = new_node(NodeKind.NAME, 'operator"" ' + self.source_name().text)
        elif c == "C" or (c == "D" and self.peek_next() != "C"):
            node = self.ctor_dtor_name()
        elif c == "D":
            self.position += 2
            parts = []
            while not self.accept("E"):
                parts.append(self.source_name())
            node = new_node(NodeKind.BRACED, "[]", None, new_node(NodeKind.LIST, "", parts))
        elif c == "L":
            self.position += 1
            node = self.source_name()
            self.discriminator()
        elif c == "U":
            node = self.unnamed_type()
        else:
            raise Malformed
        while self.peek() == "B":
            self.position += 1
            last = self.last_name
            node = new_node(NodeKind.TAGGED, self.source_name().text, node)
            self.last_name = last
        return node

    @cython.cfunc
    def ctor_dtor_name(self) -> Node:
        """``<ctor-dtor-name>``: repeats the name of the class."""
        kind, variant = self.peek(), self.peek_next()
        self.position += 2
        if kind == "C" and variant == "I":
            # An inherited constructor is named after the derived class.
            self.position += 1
            self.type()
        elif variant not in ("1", "2", "3", "4", "5", "0"):
            raise Malformed
        return new_node(NodeKind.CONSTRUCTOR, self.last_name if kind == "C" else "~" + self.last_name)

    @cython.cfunc
    def unnamed_type(self) -> Node:
        """``<unnamed-type-name>``, ``<closure-type-name>``."""
        if self.accept("Ul"):
            self.in_lambda += 1
            parameters = self.bare_function_type()
            self.in_lambda -= 1
            self.expect("E")
            return new_node(NodeKind.LAMBDA, f"#{self.index() + 1}}}", None, parameters)
        self.expect("Ut")
        return new_node(NodeKind.LAMBDA, f"{{unnamed type#{self.index() + 1}}}")

    @cython.cfunc
    def operator_name(self) -> Node:
        """``<operator-name>``; an OPERATOR has its code in ``second``."""
        code = self.text[self.position : self.position + 2]
        self.position += 2
        if code == "cv":
            if self.in_expression:
                return new_node(NodeKind.CAST, "", self.type())
            outer = self.in_conversion
            self.in_conversion = True
            last = self.last_name
            kind = self.type()
            self.last_name = last
            self.in_conversion = outer
            return new_node(NodeKind.CONVERSION, "", kind)
        if code[:1] == "v" and "0" <= code[1:] <= "9":
            return new_node(NodeKind.OPERATOR, self.source_name().text, int(code[1:]), code)
        found = OPERATORS.get(code)
        if found is None:
            raise Malformed
        return new_node(NodeKind.OPERATOR, found[0], found[1], code)

    # -- types, substitutions, template parameters and arguments -----------------------------------------------------

    @cython.cfunc
    def bare_function_type(self) -> Node:
        """``<bare-function-type>`` without a return type: the types of the parameters."""
        found = []
        while True:
            c = self.peek()
            if c in ("\0", "E", ".") or (c in ("R", "O") and self.peek_next() == "E"):
                break
            found.append(self.type())
        if not found:
            raise Malformed
        if len(found) == 1 and found[0].kind == NodeKind.NAME and found[0].text == "void":
            found = []
        return new_node(NodeKind.LIST, "", found)

    @cython.cfunc
    def type(self) -> Node:
        """``<type>``."""
        self.descend()
        node = self._type()
        self.depth -= 1
        return node

    @cython.cfunc
    def _type(self) -> Node:
        c = self.peek()
        if c in BUILTIN:
            self.position += 1
            return new_node(NodeKind.NAME, BUILTIN[str(c)])
        after = self.peek_next()
        if c in ("r", "V", "K") or (c == "D" and after in ("x", "o", "O", "w")):
            node = self.qualified_type()
        elif c == "u":
            self.position += 1
            node = self.source_name()
            if self.peek() == "I":
                node = new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(False))
        elif c == "F":
            node = self.function_type("")
        elif c == "A":
            node = self.array_type()
        elif c == "M":
            self.position += 1
            of = self.type()
            node = new_node(NodeKind.MEMBER, "", of, self.type())
        elif c == "T":
            node = self.template_param()
            if self.peek() == "I":
                node = self.with_arguments(node)
        elif c == "P" or c == "R" or c == "O":
            self.position += 1
            node = new_node(NodeKind.POINTER, "*" if c == "P" else "&" if c == "R" else "&&", self.type())
        elif c == "C" or c == "G":
            self.position += 1
            node = new_node(NodeKind.CV, " _Complex" if c == "C" else " _Imaginary", self.type())
        elif c == "U":
            self.position += 1
            name = self.source_name()
            if self.peek() == "I":
                name = new_node(NodeKind.TEMPLATE, "", name, self.template_argument_list(False))
            node = new_node(NodeKind.JOINED, " ", self.type(), name)
        elif c == "D":
            if after in ("t", "T"):
                self.position += 2
                node = new_node(NodeKind.DECLTYPE, "", self.expression())
                self.expect("E")
            elif after == "p":
                self.position += 2
                node = new_node(NodeKind.EXPANSION, "", self.type())
            elif after == "v":
                self.position += 2
                size = self.array_size()
                self.expect("_")
                node = new_node(NodeKind.VECTOR, "", size, self.type())
            elif after == "F":
                self.position += 2
                bits = self.number()
                tail = "" if self.accept("_") else self.text[self.position : self.position + 1]
                self.position += len(tail)
                return new_node(NodeKind.NAME, f"_Float{bits}{tail}")
            elif after in LATER:
                self.position += 2
                return new_node(NodeKind.NAME, LATER[str(after)])
            else:
                raise Malformed
        elif c == "S" and (after == "_" or "0" <= after <= "9" or "A" <= after <= "Z"):
            node = self.substitution(False)
            if self.peek() != "I":
                return node
            node = self.with_arguments(node)
            if node.kind != NodeKind.TEMPLATE:
                return node
        elif c == "N" or c == "Z" or c == "S" or "0" <= c <= "9":
            node = self.name(False)
            if node.kind == NodeKind.STANDARD:
                return node
        else:
            raise Malformed
        self.substitutions.append(node)
        return node

    @cython.cfunc
    def with_arguments(self, node: Node) -> Node:
        """A template parameter or a substitution with the template arguments that follow it."""
        if self.in_conversion and node.kind == NodeKind.FORWARD:
            # These may be the arguments of the conversion operator itself: they are, unless a second list follows.
            at, count, last = self.position, len(self.substitutions), self.last_name
            arguments = self.template_argument_list(False)
            if self.peek() != "I":
                self.position, self.last_name = at, last
                del self.substitutions[count:]
                return node
            return new_node(NodeKind.TEMPLATE, "", node, arguments)
        return new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(False))

    @cython.cfunc
    def qualified_type(self) -> Node:
        """``<qualified-type>``; the qualifiers of a function type belong to `this`."""
        found: list[tuple[str, Node | None]] = []
        while True:
            self.budget.step()
            c = self.peek()
            if c in ("r", "V", "K"):
                self.position += 1
                found.append(({"r": " restrict", "V": " volatile", "K": " const"}[c], None))
            elif c == "D" and self.peek_next() in ("x", "o", "O", "w"):
                kind = self.peek_next()
                self.position += 2
                if kind == "O":
                    found.append((" noexcept", self.expression()))
                    self.expect("E")
                elif kind == "w":
                    thrown = self.bare_function_type()
                    self.expect("E")
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
            node = self.function_type(tail)
            if extra is not None:
                node.second = new_node(NodeKind.JOINED, " noexcept", node.second, extra)
                node.text = node.text.replace(" noexcept", "")
            return node
        node = self.type()
        for text, _part in reversed(found):
            node = new_node(NodeKind.CV, text, node)
        return node

    @cython.cfunc
    def function_type(self, tail: str) -> Node:
        """``<function-type>``: `F` ... `E`; ``tail`` has its qualifiers and exception specification."""
        self.expect("F")
        self.accept("Y")
        returned = self.type()
        parameters = self.bare_function_type()
        reference = " &" if self.accept("R") else " &&" if self.accept("O") else ""
        self.expect("E")
        return new_node(NodeKind.FUNCTION, tail + reference, returned, parameters)

    @cython.cfunc
    def array_size(self) -> Node | None:
        """The dimension of an array: digits, an expression or none."""
        c = self.peek()
        if c == "_":
            return None
        if "0" <= c <= "9":
            return new_node(NodeKind.NAME, str(self.number()))
        return self.expression()

    @cython.cfunc
    def array_type(self) -> Node:
        """``<array-type>``: `A` size `_` element."""
        self.expect("A")
        size = self.array_size()
        self.expect("_")
        return new_node(NodeKind.ARRAY, "", size, self.type())

    @cython.cfunc
    def substitution(self, prefix: cython.bint) -> Node:
        """``<substitution>``: a component read before, or an abbreviation of the standard library.

        ``prefix``: in a nested name, where constructors follow the full name of the class.
        """
        self.budget.step()
        self.expect("S")
        c = self.peek()
        if c == "_" or "0" <= c <= "9" or "A" <= c <= "Z":
            index = 0
            if c != "_":
                while self.peek() != "_":
                    c = self.peek()
                    if not ("0" <= c <= "9" or "A" <= c <= "Z") or index > 100_000:
                        raise Malformed
                    index = index * 36 + int(c, 36)
                    self.position += 1
                index += 1
            self.position += 1
            if index >= len(self.substitutions):
                raise Malformed
            found = self.substitutions[index]
            return self.rebind(found, 0) if self.may_rebind else found  # type: ignore[return-value]  # of a node: a node
        standard = STANDARD_NAMES.get(c)
        if standard is None:
            raise Malformed
        self.position += 1
        full = prefix and self.peek() in ("C", "D")
        self.last_name = standard[2]
        node = new_node(NodeKind.STANDARD, standard[1] if full else standard[0])
        if self.peek() == "B":
            while self.accept("B"):
                last = self.last_name
                node = new_node(NodeKind.TAGGED, self.source_name().text, node)
                self.last_name = last
            self.substitutions.append(node)
        return node

    @cython.cfunc
    def template_param(self) -> Node:
        """``<template-param>``: a node that stands for its argument, which may be read later."""
        self.expect("T")
        index = self.index()
        if self.in_lambda:
            # GNU prints parameters of generic lambdas like this. A substitution that repeats the node means the
            # parameter of the enclosing template instead.
            node = new_node(NodeKind.GENERIC, f"auto:{index + 1}")
            self.forward_references.append((index, node))
            return node
        return self.argument_of(index, None)

    @cython.cfunc
    def argument_of(self, index: cython.longlong, otherwise: Any) -> Node:
        """A node for template parameter ``index`` of the current encoding; ``otherwise`` is its argument if there is no
        such parameter."""
        node = new_node(NodeKind.FORWARD, str(index), otherwise, self.template_args)
        if self.template_args is not None and index < len(self.template_args) and not self.in_conversion:
            node.first = self.template_args[index]
        else:
            self.forward_references.append((index, node))
        return node

    @cython.cfunc
    def resolve_forward_references(self) -> None:
        """Give parameters their arguments that were read after them, as in conversion operators."""
        for index, node in self.forward_references:
            if self.template_args is not None and index < len(self.template_args):
                node.first = self.template_args[index]
            elif node.kind != NodeKind.GENERIC and node.first is None:
                raise Malformed
        self.forward_references = []

    @cython.cfunc
    def rebind(self, node: object, depth: cython.int) -> object:
        """A substitution read inside another function, with its parameters standing for the arguments that hold here.

        ``node`` is a node, a list of nodes, or another field of one, which is returned as it is.
        """
        self.budget.step()
        if isinstance(node, list):
            items = [self.rebind(one, depth + 1) for one in node]
            return node if all(one is other for one, other in zip(node, items, strict=True)) else items
        if not isinstance(node, Node) or depth > MAX_DEPTH:
            return node
        if node.kind == NodeKind.FORWARD:
            # The parameters of a lambda are those of the enclosing function.
            known = node.second is self.template_args or (self.in_lambda and node.first is not None)
            return node if known else self.argument_of(int(node.text), node.first)
        if (
            node.kind == NodeKind.PACK
            or node.kind == NodeKind.LAMBDA
            or node.kind == NodeKind.LOCAL
            or node.kind == NodeKind.ENCODING
        ):
            return node
        a, b = self.rebind(node.first, depth + 1), self.rebind(node.second, depth + 1)
        if a is node.first and b is node.second:
            return node
        return new_node(node.kind, node.text, a, a if node.second is node.first else b)

    @cython.cfunc
    def template_argument_list(self, own: cython.bint) -> Node:
        """``<template-args>``: `I` ... `E`, or the elements of a pack, `J` ... `E`. ``own`` as in ``name``."""
        self.descend()
        last = self.last_name
        if not self.accept("I") and not self.accept("J"):
            raise Malformed
        found: list[Node] = []
        own_args: list[Node] = []
        if own:
            self.template_args = own_args
        while not self.accept("E"):
            is_pack = self.peek() == "J" or self.peek() == "I"
            node = self.template_argument()
            found.append(node)
            if own:
                own_args.append(new_node(NodeKind.PACK, "", node.first) if is_pack else node)
        self.last_name = last
        self.depth -= 1
        return new_node(NodeKind.LIST, "", found)

    @cython.cfunc
    def template_argument(self) -> Node:
        """``<template-arg>``."""
        c = self.peek()
        if c == "X":
            self.position += 1
            node = self.expression()
            self.expect("E")
            return node
        if c == "L":
            return self.literal()
        if c == "I" or c == "J":
            return self.template_argument_list(False)
        return self.type()

    # -- expressions -------------------------------------------------------------------------------------------------

    @cython.cfunc
    def expression(self) -> Node:
        """``<expression>``."""
        self.descend()
        self.in_expression += 1
        outer, self.in_conversion = self.in_conversion, False
        node = self._expression()
        self.in_conversion = outer
        self.in_expression -= 1
        self.depth -= 1
        return node

    @cython.cfunc
    def simple_id(self) -> Node:
        """``<simple-id>``: an unqualified name with its template arguments, if any."""
        self.accept("on")
        node = self.unqualified_name()
        return new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(False)) if self.peek() == "I" else node

    @cython.cfunc
    def unresolved_scope(self) -> Node:
        """The scope of an ``<unresolved-name>``, which depends on template parameters."""
        node: Node | None = None
        if not "0" <= self.peek() <= "9":
            return self.type()
        while not self.accept("E"):
            part = self.simple_id()
            node = part if node is None else new_node(NodeKind.QUALIFIED, "", node, part)
        if node is None:
            raise Malformed
        return node

    @cython.cfunc
    def expression_list(self, end: str) -> Node:
        """Expressions up to the text ``end``."""
        found = []
        while not self.accept(end):
            found.append(self.expression())
        return new_node(NodeKind.LIST, "", found)

    @cython.cfunc
    def _expression(self) -> Node:
        c, after = self.peek(), self.peek_next()
        if c == "L":
            return self.literal()
        if c == "T":
            return self.template_param()
        if c == "s" and after == "r":
            self.position += 2
            scope = self.unresolved_scope()
            self.accept("on")
            node = new_node(NodeKind.QUALIFIED, "", scope, self.unqualified_name())
            return (
                new_node(NodeKind.TEMPLATE, "", node, self.template_argument_list(False))
                if self.peek() == "I"
                else node
            )
        if c == "s" and after == "p":
            self.position += 2
            return new_node(NodeKind.EXPANSION, "", self.expression())
        if c == "f" and after == "p":
            self.position += 2
            if self.accept("T"):
                return new_node(NodeKind.PARAMETER, "this")
            while self.peek() in ("r", "V", "K"):
                self.position += 1
            return new_node(NodeKind.PARAMETER, f"{{parm#{self.index() + 1}}}")
        if "0" <= c <= "9" or (c == "o" and after == "n"):
            return self.simple_id()
        if (c == "i" or c == "t") and after == "l":
            self.position += 2
            kind = self.type() if c == "t" else None
            return new_node(NodeKind.BRACED, "{}", kind, self.expression_list("E"))
        if c == "u":
            self.position += 1
            name = self.source_name()
            found = []
            while not self.accept("E"):
                found.append(self.template_argument())
            return new_node(NodeKind.BRACED, "()", name, new_node(NodeKind.LIST, "", found))
        return self.operator_expression()

    @cython.cfunc
    def operator_expression(self) -> Node:
        """An operator with its operands."""
        op = self.operator_name()
        if op.kind == NodeKind.CAST:
            operand = self.expression_list("E") if self.accept("_") else self.expression()
            return new_node(NodeKind.UNARY, "", op, operand)
        code = str(op.second)
        count = op.first
        if code in ("st", "at", "ti"):
            return new_node(NodeKind.UNARY, "", op, self.type())
        if count == 0:
            return new_node(NodeKind.UNARY, "", op)
        if count == 1:
            if code == "sP":
                found = []
                while not self.accept("E"):
                    found.append(self.template_argument())
                return new_node(NodeKind.UNARY, "", op, new_node(NodeKind.LIST, "", found))
            suffix = code in ("pp", "mm") and not self.accept("_")
            return new_node(NodeKind.UNARY, "suffix" if suffix else "", op, self.expression())
        if code[:1] == "f":
            inner = self.operator_name()
            operands = [self.expression() for _ in range(int(count) - 1)]
            return new_node(NodeKind.FOLD, code, inner, new_node(NodeKind.LIST, "", operands))
        if code == "cl":
            called = self.expression()
            return new_node(NodeKind.BINARY, code, op, new_node(NodeKind.LIST, "", [called, self.expression_list("E")]))
        if code in ("dt", "pt"):
            left = self.expression()
            self.accept("gs")
            right = self.expression() if self.peek() == "s" else self.simple_id()
            return new_node(NodeKind.BINARY, code, op, new_node(NodeKind.LIST, "", [left, right]))
        if code in ("sc", "dc", "cc", "rc"):
            kind = self.type()
            return new_node(NodeKind.BINARY, "cast", op, new_node(NodeKind.LIST, "", [kind, self.expression()]))
        if code in ("nw", "na"):
            placed = self.expression_list("_")
            kind = self.type()
            start: Node | None = None
            if self.accept("pi"):
                start = new_node(NodeKind.BRACED, "()", None, self.expression_list("E"))
            elif self.peek() == "i" and self.peek_next() == "l":
                start = self.expression()
            else:
                self.expect("E")
            return new_node(NodeKind.NEW, op.text, placed, [kind, start])
        operands = [self.expression() for _ in range(int(count))]
        return new_node(
            NodeKind.BINARY if count == 2 else NodeKind.TERNARY, code, op, new_node(NodeKind.LIST, "", operands)
        )

    @cython.cfunc
    def literal(self) -> Node:
        """``<expr-primary>``: `L` ... `E`."""
        self.expect("L")
        if self.peek() == "_" or self.peek() == "Z":
            self.accept("_")
            self.expect("Z")
            node = self.encoding(True)
            self.expect("E")
            return node
        outer, self.in_conversion = self.in_conversion, False
        kind = self.type()
        self.in_conversion = outer
        if self.accept("E"):
            # Null pointers and closures have no value here.
            return kind if kind.kind == NodeKind.NAME else new_node(NodeKind.LITERAL, "", kind)
        start = self.position
        end = self.text.find("E", start)
        if end < 0:
            raise Malformed
        self.position = end + 1
        text = self.text[start:end]
        return new_node(NodeKind.LITERAL, "-" + text[1:] if text[:1] == "n" else text, kind)


@cython.cfunc
def _returns(name: Node) -> cython.bint:
    """Whether the mangled type of a function begins with its return type: that of a template does, except for
    constructors and conversion operators."""
    while has_method_qualifiers(name):
        name = name.first
    if name.kind == NodeKind.LOCAL:
        return _returns(name.second)
    if name.kind != NodeKind.TEMPLATE:
        return False
    inner = name.first
    while inner.kind in (NodeKind.QUALIFIED, NodeKind.LOCAL, NodeKind.TAGGED):
        inner = inner.first if inner.kind == NodeKind.TAGGED else inner.second
    return inner.kind not in (NodeKind.CONSTRUCTOR, NodeKind.CONVERSION)


@cython.cfunc
def parse_name(text: str, budget: Budget) -> Node:
    """The tree of a mangled name. Raises Malformed, Exhausted."""
    return Parser(text, budget).parse()
