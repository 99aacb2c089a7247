# cython: language_level=3
"""Prints the tree of a name as GNU does, within bounds."""

import cython
from cython.cimports.undwarf.symbols.itanium.ast import Node
from cython.cimports.undwarf.symbols.itanium.budget import Budget
from cython.cimports.undwarf.symbols.itanium.node_kinds import NodeKind

from undwarf.symbols.itanium.ast import Malformed
from undwarf.symbols.itanium.budget import Exhausted

MAX_TREE_DEPTH = cython.declare(cython.int, 500)
"""Maximum depth of the tree of a name: more than the nesting of the name, since substitutions repeat parts."""
PACK_DEPTH = cython.declare(cython.int, 30)
"""Maximum depth at which a pattern is searched for a parameter pack."""
CHARACTERS_PER_STEP_LOG2 = cython.declare(cython.int, 6)
"""Copying this many characters, as a power of two, counts as visiting a node."""
_LITERAL_SUFFIXES: dict[str, str] = {
    "int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull",
}  # fmt: skip  # a table
_FLOATS = ("float", "double", "long double", "__float128")


@cython.final
@cython.cclass
class Printer:
    """Prints the tree of one name.

    ``most`` bounds the characters of every part's text, ``budget`` how many nodes are visited: template arguments may
    refer to themselves, and packs may be expanded over and over into nothing.

    A declarator is printed around the declared name: the text of a node is a pair, what comes before that name
    (``int (*``) and what comes after it (``)(char)``).
    """

    most = cython.declare(cython.Py_ssize_t)
    depth = cython.declare(cython.int)
    budget: Budget
    index = cython.declare(cython.Py_ssize_t)
    """The pack element that is printed, -1 outside of pack expansions."""
    in_lambda = cython.declare(cython.int)

    def __init__(self, most: int, budget: Budget) -> None:
        self.in_lambda = 0
        self.most = most
        self.depth = 0
        self.budget = budget
        self.index = -1

    @cython.cfunc
    def text(self, node: Node) -> str:
        """The whole text of a node."""
        prefix, suffix = self.parts(node)
        return prefix + suffix

    @cython.cfunc
    def parts(self, node: Node) -> tuple[str, str]:
        """The text before and after the declared name, remembered in the node."""
        self.budget.step()
        if node.printed is not None and not self.in_lambda:
            return node.printed  # type: ignore[no-any-return]  # a tuple by now
        self.depth += 1
        if self.depth > MAX_TREE_DEPTH:
            raise Malformed
        found: tuple[str, str] = self._parts(node)
        size: cython.Py_ssize_t = len(found[0]) + len(found[1])
        if size > self.most:
            raise Exhausted
        self.budget.steps -= size >> CHARACTERS_PER_STEP_LOG2
        self.depth -= 1
        if self.index < 0 and not self.in_lambda:
            # The text depends on the element in a pack expansion, and on the enclosing function in a lambda.
            node.printed = found
        return found

    @cython.cfunc
    def _parts(self, node: Node) -> tuple[str, str]:
        kind: cython.int = node.kind
        if kind in (NodeKind.NAME, NodeKind.STANDARD, NodeKind.CONSTRUCTOR, NodeKind.PARAMETER):
            return node.text, ""
        if kind == NodeKind.QUALIFIED:
            return f"{self.text(node.first)}::{self.text(node.second)}", ""
        if kind == NodeKind.TEMPLATE:
            return self.template(node), ""
        if kind == NodeKind.POINTER:
            return self.pointer(node)
        if kind == NodeKind.CV:
            return self.qualified(node)
        if kind == NodeKind.PACK and 0 <= self.index < len(node.first):
            return self.parts(node.first[self.index])
        if kind in (NodeKind.LIST, NodeKind.PACK):
            return self.listed(node.first), ""
        if kind == NodeKind.FUNCTION:
            return self.function(node)
        if kind == NodeKind.ENCODING:
            return self.encoding(node), ""
        if kind == NodeKind.LOCAL:
            return self.scoped(node)
        if kind == NodeKind.MEMBER:
            return self.member(node)
        if kind == NodeKind.ARRAY:
            prefix, suffix = self.parts(node.second)
            size = self.text(node.first) if node.first is not None else ""
            return prefix, f" [{size}]{suffix[1:] if self.declared(node.second).kind == NodeKind.ARRAY else suffix}"
        if kind == NodeKind.GENERIC and (self.in_lambda or node.first is None):
            return node.text, ""
        if kind in (NodeKind.FORWARD, NodeKind.GENERIC):
            if node.first is None:
                raise Malformed
            return self.parts(node.first)
        if kind == NodeKind.EXPANSION:
            return self.expansion(node), ""
        return self.rest(node), ""

    @cython.cfunc
    def rest(self, node: Node) -> str:
        """The text of rarer kinds, which declare nothing."""
        kind: cython.int = node.kind
        if kind == NodeKind.TAGGED:
            return f"{self.text(node.first)}[abi:{node.text}]"
        if kind == NodeKind.LAMBDA:
            if node.second is None:
                return str(node.text)
            self.in_lambda += 1
            parameters = self.text(node.second)
            self.in_lambda -= 1
            return f"{{lambda({parameters}){node.text}"
        if kind == NodeKind.OPERATOR:
            return f"operator{' ' if node.text[:1].islower() else ''}{node.text.rstrip(' ')}"
        if kind == NodeKind.CONVERSION:
            return f"operator {self.text(node.first)}"
        if kind == NodeKind.PREFIXED:
            return f"{node.text}{self.text(node.first)}"
        if kind == NodeKind.JOINED:
            return f"{self.text(node.first)}{node.text}{self.text(node.second)}"
        if kind == NodeKind.VECTOR:
            return f"{self.text(node.second)} __vector({self.text(node.first) if node.first is not None else ''})"
        if kind == NodeKind.DECLTYPE:
            return f"decltype ({self.text(node.first)})"
        return self.expression(node)

    # -- declarations -------------------------------------------------------------------------------------------

    @cython.cfunc
    def listed(self, items: list[Node]) -> str:
        """Items separated by commas; items without text at the end, which are empty packs, are left out."""
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
        """A template and its arguments."""
        name = self.text(node.first)
        arguments = self.text(node.second)
        space = " " if name.endswith("<") else ""
        # GNU separates closing angle brackets by a space, unless there is an empty pack between them.
        apart = arguments.endswith(">") and not self.ends_empty(node.second)
        return f"{name}{space}<{arguments}{' ' if apart else ''}>"

    @cython.cfunc
    def ends_empty(self, node: Node) -> cython.bint:
        """Whether the last of at least two arguments has no text."""
        while node.kind in (NodeKind.LIST, NodeKind.PACK) and node.first:
            self.budget.step()
            items = node.first
            node = self.element(items[len(items) - 1])
            if len(items) > 1 and not self.text(node):
                return True
        return False

    @cython.cfunc
    def qualified(self, node: Node) -> tuple[str, str]:
        """A type with its qualifiers, each printed once."""
        texts = [node.text]
        inner: Node = self.element(node.first)
        while node.second is None and inner.kind == NodeKind.CV and inner.second is None:
            self.budget.step()
            if inner.text not in texts:
                texts.append(inner.text)
            inner = self.element(inner.first)
        prefix, suffix = self.parts(inner)
        tail = "".join(reversed(texts))
        return (prefix, suffix + tail) if self.is_function(inner) else (prefix + tail, suffix)

    @cython.cfunc
    def element(self, node: Node) -> Node:
        """The argument of a template parameter; of a pack the element that is printed."""
        while True:
            self.budget.step()
            if node.first is None:
                return node
            if node.kind == NodeKind.FORWARD or (node.kind == NodeKind.GENERIC and not self.in_lambda):
                node = node.first
            elif node.kind == NodeKind.PACK and 0 <= self.index < len(node.first):
                node = node.first[self.index]
            else:
                return node

    @cython.cfunc
    def argument(self, node: Node) -> Node:
        """The argument of a template parameter; of a pack the whole pack."""
        while node.kind == NodeKind.FORWARD and node.first is not None:
            self.budget.step()
            node = node.first
        return node

    @cython.cfunc
    def is_function(self, node: Node) -> cython.bint:
        """Whether a node is a function type, qualified or not."""
        node = self.argument(node)
        while node.kind == NodeKind.CV and node.second is None:
            self.budget.step()
            node = self.argument(node.first)
        return node.kind == NodeKind.FUNCTION

    @cython.cfunc
    def pack(self, node: object, depth: cython.int) -> Node | None:
        """The first parameter pack in the pattern of an expansion."""
        self.budget.step()
        if (
            depth > PACK_DEPTH
            or not isinstance(node, Node)
            or node.kind == NodeKind.EXPANSION
            or node.kind == NodeKind.LAMBDA
        ):
            return None
        if node.kind == NodeKind.PACK:
            return node
        for part in node.first if node.kind == NodeKind.LIST else (node.first, node.second):
            found = self.pack(part, depth + 1)
            if found is not None:
                return found
        return None

    @cython.cfunc
    def declared(self, node: Node) -> Node:
        """A type without its qualifiers, since functions and arrays are printed around a pointer to them."""
        node = self.element(node)
        while node.kind == NodeKind.CV and node.second is None:
            node = self.element(node.first)
        return node

    @cython.cfunc
    def pointer(self, node: Node) -> tuple[str, str]:
        """Pointers and references; references to references collapse."""
        mark = node.text
        to: Node = self.element(node.first)
        while mark != "*" and to.kind == NodeKind.POINTER and to.text != "*":
            self.budget.step()
            mark = "&" if mark == "&" or to.text == "&" else "&&"
            to = self.element(to.first)
        prefix, suffix = self.parts(to)
        held = self.declared(to)
        if held.kind == NodeKind.FUNCTION:
            return f"{prefix}({mark}", f"){suffix}"
        if held.kind == NodeKind.ARRAY:
            return f"{prefix} ({mark}", f"){suffix}"
        return prefix + mark, suffix

    @cython.cfunc
    def member(self, node: Node) -> tuple[str, str]:
        """Pointers to members."""
        prefix, suffix = self.parts(node.second)
        of = self.text(node.first)
        held = self.declared(node.second)
        if held.kind == NodeKind.FUNCTION:
            return f"{prefix}({of}::*", f"){suffix}"
        if held.kind == NodeKind.ARRAY:
            return f"{prefix} ({of}::*", f"){suffix}"
        return f"{prefix} {of}::*", suffix

    @cython.cfunc
    def function(self, node: Node) -> tuple[str, str]:
        """A function type."""
        parameters = node.second
        throws = ""
        if parameters.kind == NodeKind.JOINED:
            throws = f"{parameters.text}({self.text(parameters.second)})"
            parameters = parameters.first
        suffix = f"({self.text(parameters)}){throws}{node.text}"
        if node.first is None:
            return "", suffix
        prefix, after = self.parts(node.first)
        return (prefix if after else prefix + " "), suffix + after

    @cython.cfunc
    def encoding(self, node: Node) -> str:
        """A function: its name inside its type."""
        qualifiers = ""
        name: Node = node.first
        while name.kind == NodeKind.CV and name.second is not None:
            qualifiers = name.text + qualifiers
            name = name.first
        prefix, suffix = self.parts(node.second)
        text = self.text(name)
        if name.kind == NodeKind.LOCAL:
            inner: Node = name.second
            while inner.kind == NodeKind.CV and inner.second is not None:
                qualifiers = inner.text + qualifiers
                inner = inner.first
            text = self.text(name.first) + "::" + name.text + self.text(inner)
        own = f"({self.text(node.second.second)})"
        return prefix + text + own + qualifiers + suffix[len(own) :]

    @cython.cfunc
    def scoped(self, node: Node) -> tuple[str, str]:
        """An entity in the scope of a function."""
        return f"{self.text(node.first)}::{node.text}{self.text(node.second)}", ""

    @cython.cfunc
    def expansion(self, node: Node) -> str:
        """The pattern of a pack expansion, once for each element of the pack."""
        pack = self.pack(node.first, 0)
        if pack is None:
            return (
                f"{self.operand(node.first)}..."
                if node.first.kind != NodeKind.NAME
                else f"({self.text(node.first)})..."
            )
        was: cython.Py_ssize_t = self.index
        found = []
        size: cython.Py_ssize_t = 0
        for i in range(len(pack.first)):
            self.index = i
            one = self.text(self.element(node.first))
            found.append(one)
            size += len(one)
            if size > self.most:
                raise Exhausted
        self.index = was
        return ", ".join(found)

    # -- expressions --------------------------------------------------------------------------------------------

    @cython.cfunc
    def operand(self, node: Node) -> str:
        """An operand, in parentheses unless it is a simple name."""
        text = self.text(node)
        return (
            text
            if self.argument(node).kind in (NodeKind.NAME, NodeKind.QUALIFIED, NodeKind.BRACED, NodeKind.PARAMETER)
            else f"({text})"
        )

    @cython.cfunc
    def expression(self, node: Node) -> str:
        """An expression."""
        kind: cython.int = node.kind
        if kind == NodeKind.LITERAL:
            return self.literal(node)
        if kind == NodeKind.UNARY:
            return self.unary(node)
        if kind == NodeKind.BINARY:
            return self.binary(node)
        if kind == NodeKind.TERNARY:
            items = node.second.first
            return f"{self.operand(items[0])}{node.first.text}{self.operand(items[1])} : {self.operand(items[2])}"
        if kind == NodeKind.CAST:
            return f"operator {self.text(node.first)}"
        if kind == NodeKind.BRACED:
            start = self.text(node.first) if node.first is not None else ""
            return f"{start}{node.text[0]}{self.text(node.second)}{node.text[1]}"
        if kind == NodeKind.FOLD:
            items = [self.operand(one) for one in node.second.first]
            mark = node.first.text
            if node.text == "fl":
                return f"(...{mark}{items[0]})"
            if node.text == "fr":
                return f"({items[0]}{mark}...)"
            return f"({items[0]}{mark}...{mark}{items[1]})"
        if kind == NodeKind.NEW:
            placed = self.text(node.first)
            start = self.text(node.second[1]) if node.second[1] is not None else ""
            return f"{node.text} {f'({placed}) ' if placed else ''}{self.text(node.second[0])}{start}"
        raise Malformed

    @cython.cfunc
    def literal(self, node: Node) -> str:
        """A literal, with its type unless a suffix shows that."""
        kind = self.text(node.first)
        if node.first.kind == NodeKind.NAME:
            if kind == "bool" and node.text in ("0", "1"):
                return "true" if node.text == "1" else "false"
            if kind in _LITERAL_SUFFIXES:
                return f"{node.text}{_LITERAL_SUFFIXES[kind]}"
            if kind in _FLOATS:
                return f"({kind})[{node.text}]"
        return f"({kind}){node.text}"

    @cython.cfunc
    def unary(self, node: Node) -> str:
        """Prefix and postfix operators, sizeof, casts to a type."""
        op: Node = node.first
        if op.kind == NodeKind.CAST:
            return f"({self.text(op.first)}){self.operand(node.second)}"
        if node.second is None:
            return str(op.text)
        code = str(op.second)
        operand: Node = node.second
        if node.text == "suffix":
            return f"{self.operand(operand)}{op.text}"
        if code == "ad" and operand.kind == NodeKind.ENCODING and operand.first.kind == NodeKind.QUALIFIED:
            operand = operand.first
        if code == "sZ" or code == "sP":
            pack = self.pack(operand, 0) if code == "sZ" else operand
            if pack is not None:
                return str(len(pack.first))
        if code == "gs":
            return f"{op.text}{self.text(operand)}"
        if code in ("st", "nx"):
            return f"{op.text}({self.text(operand)})"
        return f"{op.text}{self.operand(operand)}"

    @cython.cfunc
    def binary(self, node: Node) -> str:
        """Two operands, calls, subscripts and named casts."""
        left, right = node.second.first
        if node.text == "cast":
            return f"{node.first.text}<{self.text(left)}>({self.text(right)})"
        if node.text == "cl":
            called = self.operand(left.first if left.kind == NodeKind.ENCODING else left)
            return f"{called}({self.text(right)})"
        if node.text == "ix":
            return f"{self.operand(left)}[{self.text(right)}]"
        found = f"{self.operand(left)}{node.first.text}{self.operand(right)}"
        return f"({found})" if node.first.text == ">" else found


@cython.cfunc
def print_name(node: Node, most: cython.Py_ssize_t, budget: Budget) -> str:
    """The text of a name's tree. Raises Malformed, Exhausted, the latter for more than ``most`` characters too."""
    return Printer(most, budget).text(node)
