# cython: language_level=3
"""A mangled name as it is read: characters, numbers, identifiers."""

from typing import Any

import cython

from undwarf.symbols.itanium.tree import Exhausted, Malformed, Node

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import NAME
    from undwarf.symbols.itanium.tree import made

DEPTH = cython.declare(cython.int, 200)
"""Levels that a name may nest."""


@cython.cclass
class Cursor:
    """A place in a mangled name, and what was read before it."""

    known: list[Node]
    arguments: Any
    waiting: list[tuple[int, Node]]

    def __init__(self, text: str, steps: int) -> None:
        self.text = text
        self.steps = steps
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
    def peek(self) -> cython.Py_UCS4:
        """The character here; NUL at the end."""
        return self.text[self.at] if self.at < self.size else "\0"

    @cython.cfunc
    def peek_behind(self) -> cython.Py_UCS4:
        """The character behind that one."""
        return self.text[self.at + 1] if self.at + 1 < self.size else "\0"

    @cython.cfunc
    def take(self, wanted: str) -> cython.bint:
        """Go past a text if it stands here."""
        if self.peek() != wanted[0] or (len(wanted) > 1 and not self.text.startswith(wanted, self.at)):
            return False
        self.at += len(wanted)
        return True

    @cython.cfunc
    def need(self, wanted: str) -> None:
        """Go past a text that has to stand here."""
        if not self.take(wanted):
            raise Malformed

    @cython.cfunc
    def number(self) -> cython.longlong:
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
    def compact(self) -> cython.longlong:
        """`_` is 0, `0_` is 1 and so on."""
        if self.take("_"):
            return 0
        value = self.number()
        if value < 0:
            raise Malformed
        self.need("_")
        return value + 1

    @cython.cfunc
    def step(self) -> None:
        """One node more that was looked at."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted

    @cython.cfunc
    def deeper(self) -> None:
        """One level more."""
        self.step()
        self.depth += 1
        if self.depth > DEPTH:
            raise Malformed

    @cython.cfunc
    def source_name(self) -> Node:
        """A length and as many characters."""
        self.step()
        length = self.number()
        if length <= 0 or self.at + length > self.size:
            raise Malformed
        text = self.text[self.at : self.at + length]
        self.at += length
        if length >= 10 and text.startswith("_GLOBAL_") and text[8] in "._$" and text[9] == "N":
            text = "(anonymous namespace)"
        self.last = text
        return made(NAME, text)

    # -- what the modules that go on from here read ----------------------------------------------------------------

    @cython.cfunc
    def expression(self) -> Node:
        """An expression (`expressions.py`)."""
        raise NotImplementedError

    @cython.cfunc
    def literal(self) -> Node:
        """`L` ... `E` (`expressions.py`)."""
        raise NotImplementedError

    @cython.cfunc
    def encoding(self, outermost: cython.bint) -> Node:
        """A function, a variable, or something special about one (`names.py`)."""
        raise NotImplementedError

    @cython.cfunc
    def name(self, own: cython.bint) -> Node:
        """A name (`names.py`)."""
        raise NotImplementedError

    @cython.cfunc
    def unqualified(self) -> Node:
        """A name without scopes (`names.py`)."""
        raise NotImplementedError

    @cython.cfunc
    def operator(self) -> Node:
        """An operator (`names.py`)."""
        raise NotImplementedError
