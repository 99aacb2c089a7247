# cython: language_level=3
"""The tree of a name as text, as GNU spells it, within bounds."""

import cython

from undwarf.symbols.itanium.tree import Exhausted, Malformed, Node

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import (
        ARRAY,
        BINARY,
        BRACED,
        CAST,
        CONSTRUCTOR,
        CONVERSION,
        CV,
        DECLTYPE,
        ENCODING,
        EXPANSION,
        FOLD,
        FORWARD,
        FUNCTION,
        GENERIC,
        JOINED,
        LAMBDA,
        LIST,
        LITERAL,
        LOCAL,
        MEMBER,
        NAME,
        NEW,
        OPERATOR,
        PACK,
        PARAMETER,
        POINTER,
        PREFIXED,
        QUALIFIED,
        STANDARD,
        TAGGED,
        TEMPLATE,
        TERNARY,
        UNARY,
        VECTOR,
    )

SPELLED = cython.declare(cython.int, 500)
"""Levels that the tree of a name may have."""

_SUFFIXES: dict[str, str] = {
    "int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull",
}  # fmt: skip
FAR = cython.declare(cython.int, 30)
"""Levels down to which a pack is looked for."""
LONG = cython.declare(cython.int, 6)
"""To copy so many characters (power of two) costs as much as to look at a node."""
_FLOATS = ("float", "double", "long double", "__float128")


@cython.final
@cython.cclass
class Speller:
    """Spells nodes of one name. ``most`` bounds the length of every part's text, ``steps`` how often a node may be
    looked at: arguments may refer to themselves, packs may repeat and yield nothing."""

    def __init__(self, most: int, steps: int) -> None:
        self.in_lambda = 0
        self.most = most
        self.depth = 0
        self.steps = steps
        self.index = -1

    @cython.cfunc
    def step(self) -> None:
        """One node more that was looked at."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted

    @cython.cfunc
    def text(self, node: Node) -> str:
        """The whole text of a node."""
        before, behind = self.parts(node)
        return before + behind

    @cython.cfunc
    def parts(self, node: Node) -> tuple[str, str]:
        """What stands before a declared thing, and what behind it."""
        self.step()
        if node.shown is not None and not self.in_lambda:
            return node.shown  # type: ignore[no-any-return]
        self.depth += 1
        if self.depth > SPELLED:
            raise Malformed
        found: tuple[str, str] = self._parts(node)
        size: cython.Py_ssize_t = len(found[0]) + len(found[1])
        if size > self.most:
            raise Exhausted
        self.steps -= size >> LONG
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
        found = []
        size: cython.Py_ssize_t = 0
        for item in items:
            one = self.text(item)
            found.append(one)
            size += len(one)
            if size > self.most:
                raise Exhausted
        while found and not found[-1]:
            found.pop()
        return ", ".join(found)

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
    def ends_empty(self, node: Node) -> cython.bint:
        """Whether the last of several items has no text."""
        while node.kind in (LIST, PACK) and node.a:
            self.step()
            items = node.a
            node = self.element(items[len(items) - 1])
            if len(items) > 1 and not self.text(node):
                return True
        return False

    @cython.cfunc
    def qualified(self, node: Node) -> tuple[str, str]:
        """A type with its qualifiers, each said once."""
        texts = [node.text]
        inner: Node = self.element(node.a)
        while node.b is None and inner.kind == CV and inner.b is None:
            self.step()
            if inner.text not in texts:
                texts.append(inner.text)
            inner = self.element(inner.a)
        before, behind = self.parts(inner)
        tail = "".join(reversed(texts))
        return (before, behind + tail) if self.is_function(inner) else (before + tail, behind)

    @cython.cfunc
    def element(self, node: Node) -> Node:
        """A node, or the element of a pack that is to be spelled now."""
        while True:
            self.step()
            if node.a is None:
                return node
            if node.kind == FORWARD or (node.kind == GENERIC and not self.in_lambda):
                node = node.a
            elif node.kind == PACK and 0 <= self.index < len(node.a):
                node = node.a[self.index]
            else:
                return node

    @cython.cfunc
    def argument(self, node: Node) -> Node:
        """What a template parameter stands for, a whole pack too."""
        while node.kind == FORWARD and node.a is not None:
            self.step()
            node = node.a
        return node

    @cython.cfunc
    def is_function(self, node: Node) -> cython.bint:
        """Whether a node is a function type, with or without qualifiers."""
        node = self.argument(node)
        while node.kind == CV and node.b is None:
            self.step()
            node = self.argument(node.a)
        return node.kind == FUNCTION

    @cython.cfunc
    def pack(self, node: object, depth: cython.int) -> Node | None:
        """The first argument pack in a pattern."""
        self.step()
        if depth > FAR or not isinstance(node, Node) or node.kind == EXPANSION or node.kind == LAMBDA:
            return None
        if node.kind == PACK:
            return node
        for part in node.a if node.kind == LIST else (node.a, node.b):
            found = self.pack(part, depth + 1)
            if found is not None:
                return found
        return None

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
            self.step()
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
        pack = self.pack(node.a, 0)
        if pack is None:
            return f"{self.operand(node.a)}..." if node.a.kind != NAME else f"({self.text(node.a)})..."
        was: cython.Py_ssize_t = self.index
        found = []
        size: cython.Py_ssize_t = 0
        for i in range(len(pack.a)):
            self.index = i
            one = self.text(self.element(node.a))
            found.append(one)
            size += len(one)
            if size > self.most:
                raise Exhausted
        self.index = was
        return ", ".join(found)

    # -- expressions --------------------------------------------------------------------------------------------

    @cython.cfunc
    def operand(self, node: Node) -> str:
        """A part of an expression, in brackets unless it is simple."""
        text = self.text(node)
        return text if self.argument(node).kind in (NAME, QUALIFIED, BRACED, PARAMETER) else f"({text})"

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
            pack = self.pack(operand, 0) if code == "sZ" else operand
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
