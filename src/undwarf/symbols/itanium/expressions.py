# cython: language_level=3
"""Expressions of mangled names (Itanium C++ ABI, "Expressions")."""

import cython

from undwarf.symbols.itanium.tree import Malformed, Node
from undwarf.symbols.itanium.types import Types

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import (
        BINARY,
        BRACED,
        CAST,
        EXPANSION,
        FOLD,
        LIST,
        LITERAL,
        NAME,
        NEW,
        PARAMETER,
        QUALIFIED,
        TEMPLATE,
        TERNARY,
        UNARY,
    )
    from undwarf.symbols.itanium.tree import made


@cython.cclass
class Expressions(Types):
    """Expressions and literals, which stand in types and among arguments of templates."""

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
        return made(TEMPLATE, "", node, self.template_arguments(False)) if self.peek() == "I" else node

    @cython.cfunc
    def scope(self) -> Node:
        """What stands before the `::` of a name that depends on template parameters."""
        node: Node | None = None
        if not "0" <= self.peek() <= "9":
            return self.type()
        while not self.take("E"):
            part = self.named()
            node = part if node is None else made(QUALIFIED, "", node, part)
        if node is None:
            raise Malformed
        return node

    @cython.cfunc
    def several(self, end: str) -> Node:
        """Expressions up to an end."""
        found = []
        while not self.take(end):
            found.append(self.expression())
        return made(LIST, "", found)

    @cython.cfunc
    def _expression(self) -> Node:
        c, after = self.peek(), self.peek_behind()
        if c == "L":
            return self.literal()
        if c == "T":
            return self.parameter()
        if c == "s" and after == "r":
            self.at += 2
            scope = self.scope()
            self.take("on")
            node = made(QUALIFIED, "", scope, self.unqualified())
            return made(TEMPLATE, "", node, self.template_arguments(False)) if self.peek() == "I" else node
        if c == "s" and after == "p":
            self.at += 2
            return made(EXPANSION, "", self.expression())
        if c == "f" and after == "p":
            self.at += 2
            if self.take("T"):
                return made(PARAMETER, "this")
            while self.peek() in ("r", "V", "K"):
                self.at += 1
            return made(PARAMETER, f"{{parm#{self.compact() + 1}}}")
        if "0" <= c <= "9" or (c == "o" and after == "n"):
            return self.named()
        if (c == "i" or c == "t") and after == "l":
            self.at += 2
            kind = self.type() if c == "t" else None
            return made(BRACED, "{}", kind, self.several("E"))
        if c == "u":
            self.at += 1
            name = self.source_name()
            found = []
            while not self.take("E"):
                found.append(self.argument())
            return made(BRACED, "()", name, made(LIST, "", found))
        return self.operation()

    @cython.cfunc
    def operation(self) -> Node:
        """An operator and its operands."""
        op = self.operator()
        if op.kind == CAST:
            operand = self.several("E") if self.take("_") else self.expression()
            return made(UNARY, "", op, operand)
        code = str(op.b)
        count = op.a
        if code in ("st", "at", "ti"):
            return made(UNARY, "", op, self.type())
        if count == 0:
            return made(UNARY, "", op)
        if count == 1:
            if code == "sP":
                found = []
                while not self.take("E"):
                    found.append(self.argument())
                return made(UNARY, "", op, made(LIST, "", found))
            suffix = code in ("pp", "mm") and not self.take("_")
            return made(UNARY, "suffix" if suffix else "", op, self.expression())
        if code[:1] == "f":
            inner = self.operator()
            operands = [self.expression() for _ in range(int(count) - 1)]
            return made(FOLD, code, inner, made(LIST, "", operands))
        if code == "cl":
            called = self.expression()
            return made(BINARY, code, op, made(LIST, "", [called, self.several("E")]))
        if code in ("dt", "pt"):
            left = self.expression()
            self.take("gs")
            right = self.expression() if self.peek() == "s" else self.named()
            return made(BINARY, code, op, made(LIST, "", [left, right]))
        if code in ("sc", "dc", "cc", "rc"):
            kind = self.type()
            return made(BINARY, "cast", op, made(LIST, "", [kind, self.expression()]))
        if code in ("nw", "na"):
            placed = self.several("_")
            kind = self.type()
            start: Node | None = None
            if self.take("pi"):
                start = made(BRACED, "()", None, self.several("E"))
            elif self.peek() == "i" and self.peek_behind() == "l":
                start = self.expression()
            else:
                self.need("E")
            return made(NEW, op.text, placed, [kind, start])
        operands = [self.expression() for _ in range(int(count))]
        return made(BINARY if count == 2 else TERNARY, code, op, made(LIST, "", operands))

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
            return kind if kind.kind == NAME else made(LITERAL, "", kind)
        start = self.at
        end = self.text.find("E", start)
        if end < 0:
            raise Malformed
        self.at = end + 1
        text = self.text[start:end]
        return made(LITERAL, "-" + text[1:] if text[:1] == "n" else text, kind)
