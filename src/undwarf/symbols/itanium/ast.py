# cython: language_level=3
"""The tree that a mangled name is parsed into."""

from typing import Any

import cython
from cython.cimports.undwarf.symbols.itanium.node_kinds import NodeKind


class Malformed(Exception):
    """A text that is no mangled name, or one that nests too deeply."""


@cython.final
@cython.cclass
class Node:
    """A part of a name; what the fields hold depends on the ``kind`` (`node_kinds.py`).

    ``first`` and ``second`` are mostly nodes or None, of a list a list of nodes. ``printed`` is the text of the node
    once it was printed: what comes before and after the name that it declares.
    """

    kind: cython.int
    text: str
    first: Any
    second: Any
    printed: Any


@cython.cfunc
def new_node(kind: cython.int, text: str = "", first: Any = None, second: Any = None) -> Node:
    """A node with these fields."""
    node: Node = Node.__new__(Node)
    node.kind = kind
    node.text = text
    node.first = first
    node.second = second
    return node


@cython.cfunc
def has_method_qualifiers(node: Node) -> cython.bint:
    """Whether a node is the name of a member function with its cv- or ref-qualifiers."""
    return node.kind == NodeKind.CV and node.second is not None
