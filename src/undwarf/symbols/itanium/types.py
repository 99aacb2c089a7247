# cython: language_level=3
"""Types of mangled names; substitutions, template parameters and arguments.

Template parameters stand for their arguments as soon as they are read, so that the tree means the same wherever a
substitution leads to it. Source: Itanium C++ ABI, "Type Encodings", "Compression".
"""

from typing import Any

import cython

from undwarf.symbols.itanium.cursor import Cursor
from undwarf.symbols.itanium.tree import Malformed, Node

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import (
        ARRAY,
        CV,
        DECLTYPE,
        ENCODING,
        EXPANSION,
        FORWARD,
        FUNCTION,
        GENERIC,
        JOINED,
        LAMBDA,
        LIST,
        LOCAL,
        MEMBER,
        NAME,
        PACK,
        POINTER,
        STANDARD,
        TAGGED,
        TEMPLATE,
        VECTOR,
    )
    from undwarf.symbols.itanium.tree import made

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


@cython.cclass
class Types(Cursor):
    """Types, what stands for one, and arguments of templates."""

    @cython.cfunc
    def parameters(self) -> Node:
        """The types of a function's parameters."""
        found = []
        while True:
            c = self.peek()
            if c in ("\0", "E", ".") or (c in ("R", "O") and self.peek_behind() == "E"):
                break
            found.append(self.type())
        if not found:
            raise Malformed
        if len(found) == 1 and found[0].kind == NAME and found[0].text == "void":
            found = []
        return made(LIST, "", found)

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
            return made(NAME, BUILTIN[str(c)])
        after = self.peek_behind()
        if c in ("r", "V", "K") or (c == "D" and after in ("x", "o", "O", "w")):
            node = self.qualified()
        elif c == "u":
            self.at += 1
            node = self.source_name()
            if self.peek() == "I":
                node = made(TEMPLATE, "", node, self.template_arguments(False))
        elif c == "F":
            node = self.function("")
        elif c == "A":
            node = self.array()
        elif c == "M":
            self.at += 1
            of = self.type()
            node = made(MEMBER, "", of, self.type())
        elif c == "T":
            node = self.parameter()
            if self.peek() == "I":
                node = self.applied(node)
        elif c == "P" or c == "R" or c == "O":
            self.at += 1
            node = made(POINTER, "*" if c == "P" else "&" if c == "R" else "&&", self.type())
        elif c == "C" or c == "G":
            self.at += 1
            node = made(CV, " _Complex" if c == "C" else " _Imaginary", self.type())
        elif c == "U":
            self.at += 1
            name = self.source_name()
            if self.peek() == "I":
                name = made(TEMPLATE, "", name, self.template_arguments(False))
            node = made(JOINED, " ", self.type(), name)
        elif c == "D":
            if after in ("t", "T"):
                self.at += 2
                node = made(DECLTYPE, "", self.expression())
                self.need("E")
            elif after == "p":
                self.at += 2
                node = made(EXPANSION, "", self.type())
            elif after == "v":
                self.at += 2
                size = self.array_size()
                self.need("_")
                node = made(VECTOR, "", size, self.type())
            elif after == "F":
                self.at += 2
                bits = self.number()
                tail = "" if self.take("_") else self.text[self.at : self.at + 1]
                self.at += len(tail)
                return made(NAME, f"_Float{bits}{tail}")
            elif after in LATER:
                self.at += 2
                return made(NAME, LATER[str(after)])
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
            return made(TEMPLATE, "", node, arguments)
        return made(TEMPLATE, "", node, self.template_arguments(False))

    @cython.cfunc
    def qualified(self) -> Node:
        """A type with qualifiers before it; before a function they are said of `this`."""
        found: list[tuple[str, Node | None]] = []
        while True:
            self.step()
            c = self.peek()
            if c in ("r", "V", "K"):
                self.at += 1
                found.append(({"r": " restrict", "V": " volatile", "K": " const"}[c], None))
            elif c == "D" and self.peek_behind() in ("x", "o", "O", "w"):
                kind = self.peek_behind()
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
                node.b = made(JOINED, " noexcept", node.b, extra)
                node.text = node.text.replace(" noexcept", "")
            return node
        node = self.type()
        for text, _part in reversed(found):
            node = made(CV, text, node)
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
        return made(FUNCTION, tail + reference, returned, parameters)

    @cython.cfunc
    def array_size(self) -> Node | None:
        """Digits, an expression or nothing."""
        c = self.peek()
        if c == "_":
            return None
        if "0" <= c <= "9":
            return made(NAME, str(self.number()))
        return self.expression()

    @cython.cfunc
    def array(self) -> Node:
        """`A` size `_` element."""
        self.need("A")
        size = self.array_size()
        self.need("_")
        return made(ARRAY, "", size, self.type())

    # -- what stands for something ------------------------------------------------------------------------------

    @cython.cfunc
    def substitution(self, prefix: cython.bint) -> Node:
        """What was said before, or a part of the standard library."""
        self.step()
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
        node = made(STANDARD, standard[1] if full else standard[0])
        if self.peek() == "B":
            while self.take("B"):
                last = self.last
                node = made(TAGGED, self.source_name().text, node)
                self.last = last
            self.known.append(node)
        return node

    @cython.cfunc
    def parameter(self) -> Node:
        """A template parameter: its argument, where that is known already."""
        self.need("T")
        index = self.compact()
        if self.in_lambda:
            # GNU spells the parameters of generic lambdas so; as a substitution the node is the enclosing template's.
            node = made(GENERIC, f"auto:{index + 1}")
            self.waiting.append((index, node))
            return node
        return self.meant(index, None)

    @cython.cfunc
    def meant(self, index: cython.longlong, otherwise: Any) -> Node:
        """A template parameter in what is being read; ``otherwise`` what it stands for where there is no such one."""
        node = made(FORWARD, str(index), otherwise, self.arguments)
        if self.arguments is not None and index < len(self.arguments) and not self.in_conversion:
            node.a = self.arguments[index]
        else:
            self.waiting.append((index, node))
        return node

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
    def bound(self, node: object, depth: cython.int) -> object:
        """A part of what was said inside of another function, where parameters meant other arguments."""
        self.step()
        if isinstance(node, list):
            items = [self.bound(one, depth + 1) for one in node]
            return node if all(one is other for one, other in zip(node, items, strict=True)) else items
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
        return made(node.kind, node.text, a, a if node.b is node.a else b)

    # -- arguments of templates ---------------------------------------------------------------------------------

    @cython.cfunc
    def template_arguments(self, own: cython.bint) -> Node:
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
                meant.append(made(PACK, "", node.a) if is_pack else node)
        self.last = last
        self.depth -= 1
        return made(LIST, "", found)

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
