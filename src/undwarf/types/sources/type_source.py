# constants of kernels: the build writes the .pxd beside this file, for the kinds of locations
"""What a source of types says about a program: where its variables are, and what its functions take and return."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from undwarf.types.layouts.type_graph import TypeGraph


class PlaceKind(IntEnum):
    """How a place is to be read."""

    REGISTER = 1
    """The value, or a piece of it, is in ``register``."""
    MEMORY = 2
    """The object is in memory at ``register`` + ``offset``."""
    CFA = 3
    """The object is in memory at the call frame address + ``offset``."""
    ADDRESS = 4
    """The object is in memory at the ELF virtual address ``offset``."""
    VALUE = 5
    """The value is ``register`` + ``offset``, which is nowhere in memory."""
    THREAD = 6
    """The object is at ``offset`` of the module's thread-local block."""
    CONSTANT = 7
    """The value is ``offset`` itself."""
    CFA_VALUE = 8
    """The value is the call frame address + ``offset``."""


class Place(NamedTuple):
    """Where a variable, or a piece of one, is while the program counter is in [``low``, ``high``).

    ``register`` is a DWARF number (x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8 to 15), -1 for
    none. ``piece_offset`` and ``piece_size`` are bytes of the variable's type; ``piece_size`` 0 means all of it.
    ``astray``: it goes on where the variable's scope has ended, and something else may be meant by then.
    """

    name: str
    type: int
    kind: PlaceKind
    register: int
    offset: int
    low: int
    high: int
    piece_offset: int = 0
    piece_size: int = 0
    astray: bool = False


class GlobalVariable(NamedTuple):
    """A variable at a fixed ELF virtual address (or offset of a per-cpu or thread-local block)."""

    name: str
    type: int
    address: int
    size: int


class Prototype(NamedTuple):
    """What a function takes and returns: type numbers, 0 for a return type of void.

    ``low`` is its address where it is known, else -1. ``trusted`` is False for a clone (``.isra.0``), whose parameters
    are not where the prototype says; ``arguments`` are then empty. Otherwise these are (register, type, piece offset)
    of each register of the x86-64 System V convention that holds a parameter, or a part of one, at the first
    instruction. ``inside``: of C++'s thunks, the register of a method's object, and how far inside of that it points.
    ``whole``: of those that are given a virtual base, (where its table of virtual functions says how far away the
    method's object is, the type of that). ``external``: others may call it, so that it takes all of its parameters.
    """

    name: str
    returns: int
    parameters: tuple[tuple[str, int], ...]
    low: int = -1
    noreturn: bool = False
    variadic: bool = False
    trusted: bool = True
    arguments: tuple[tuple[int, int, int], ...] = ()
    inside: tuple[int, int] | None = None
    whole: tuple[int, int] | None = None
    external: bool = False


class TypeSource(Protocol):
    """What DWARF or BTF knows of one binary. All addresses are ELF virtual addresses."""

    graph: TypeGraph

    def places(self, pc: int) -> "list[list[Place]]":
        """The variables that have a place at ``pc``, scope by scope, the innermost first."""

    def function_range(self, pc: int) -> "tuple[int, int] | None":
        """The contiguous range of the function's code that holds ``pc``; None where it is not known."""

    def describes(self, pc: int) -> bool:
        """Whether anything is told of the values in the function that holds ``pc``: not of one by an assembler."""

    def by_assembler(self, pc: int) -> bool:
        """Whether the function that holds ``pc`` is known to be an assembler's, of whose values nothing is told."""

    def function_places(self, low: int, high: int) -> Sequence[Place]:
        """All places of all scopes that are valid somewhere in [low, high), the outermost scope first."""

    def returned_at(self, pc: int) -> list[int]:
        """The types that the functions return which are inlined at ``pc``, void for none, the innermost first; then
        that of the function itself."""

    def made_for(self, pc: int) -> list[int]:
        """The types that the function that holds ``pc`` was made for, of a generic one or of a template."""

    def related(self, pc: int) -> list[list[int]]:
        """Aggregates the function that holds ``pc`` speaks of, in groups, those nearest to its variables first."""

    def type_named(self, name: str) -> int:
        """A structure, union, enumeration or typedef by its name; void for none."""

    def global_at(self, address: int) -> "tuple[GlobalVariable, int] | None":
        """The global variable that holds an address, and the offset in it."""

    def variable_named(self, name: str) -> int:
        """The type of a variable that is defined in another file, by its symbol's name; void where it is not known."""

    def symbol_named(self, name: str) -> tuple[int, int]:
        """(address, size) of the only variable whose symbol has a name; (0, 0) without one."""

    def per_cpu_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """The per-cpu variable at an offset of the per-cpu section, and the offset in it."""

    def thread_local_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """The thread-local variable at an offset of the module's block, and the offset in it."""

    def prototype_at(self, address: int) -> "Prototype | None":
        """The function that begins at an address."""

    def prototype_named(self, name: str) -> "Prototype | None":
        """A function by the name of its symbol; clones by their full name."""
