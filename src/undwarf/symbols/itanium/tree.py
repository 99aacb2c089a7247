# cython: language_level=3
"""The tree that a mangled name is read into."""

from typing import Any

import cython

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import CV


class Malformed(Exception):
    """A text that is no mangled name, or one that nests too deeply."""


class Exhausted(Malformed):
    """A name that took more steps, or more text, than one may."""


@cython.final
@cython.cclass
class Node:
    """A part of a name. ``shown`` remembers its text: what stands before and behind what it is said of."""

    kind: cython.int
    text: str
    a: Any
    b: Any
    shown: Any


@cython.cfunc
def made(kind: cython.int, text: str = "", a: Any = None, b: Any = None) -> Node:
    """A node of these parts."""
    node: Node = Node.__new__(Node)
    node.kind = kind
    node.text = text
    node.a = a
    node.b = b
    return node


@cython.cfunc
def is_this(node: Node) -> cython.bint:
    """Whether a node is a member function's name with its qualifiers."""
    return node.kind == CV and node.b is not None
