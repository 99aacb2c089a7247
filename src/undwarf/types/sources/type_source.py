"""Interface of the sources of type information: variable locations, prototypes, globals.

DWARF and BTF implement it, so that the data flow and the inference do not depend on the format.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from undwarf.types.layouts.type_graph import TypeGraph


class PlaceKind(IntEnum):
    """How a variable's location is to be read."""

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
    """The location of a variable, or of a piece of it, while the program counter is in [``low``, ``high``).

    ``register`` is a DWARF number (x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8 to 15), -1 for
    none. ``piece_offset`` and ``piece_size`` are bytes of the variable; size 0 means all of it. ``outlives_scope``: the
    location outlives the variable's scope, so the register may hold something else.
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
    outlives_scope: bool = False


class GlobalVariable(NamedTuple):
    """A variable at a fixed ELF virtual address, or at an offset of the per-CPU section or TLS block."""

    name: str
    type: int
    address: int
    size: int


class Prototype(NamedTuple):
    """Types that a function takes and returns (ids; a return type of 0 is void).

    ``low`` is its address, -1 if unknown. ``trusted`` is False for a clone (``.isra.0``), whose parameters are not
    where the prototype says; ``arguments`` are then empty. Otherwise these are (register, type, piece offset) of each
    register of the x86-64 System V convention that holds a parameter, or a part of one, at entry. ``inside``, of a C++
    thunk: (register of `this`, its offset in the method's object). ``whole``, of a thunk called with a virtual base:
    (vtable offset of the adjustment, type of the method's object). ``external``: visible to other files, so that all
    parameters are passed.
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
    """Type information of one binary. All addresses are ELF virtual addresses."""

    graph: TypeGraph

    def places(self, pc: int) -> "list[list[Place]]":
        """The variables with a location at ``pc``, by scope, innermost first."""

    def function_range(self, pc: int) -> "tuple[int, int] | None":
        """The contiguous range [low, high) of the function that contains ``pc``; None if unknown."""

    def describes(self, pc: int) -> bool:
        """Whether types are described for the function that contains ``pc``; not for assembly."""

    def by_assembler(self, pc: int) -> bool:
        """Whether the function that contains ``pc`` is known to be assembly, whose types are not described."""

    def function_places(self, low: int, high: int) -> Sequence[Place]:
        """All variable locations valid anywhere in [low, high), outermost scope first."""

    def returned_at(self, pc: int) -> list[int]:
        """Return types of the functions inlined at ``pc``, innermost first, then of the function itself; void: none."""

    def type_parameters(self, pc: int) -> list[int]:
        """Type parameters of the generic function or template instance that contains ``pc``."""

    def related(self, pc: int) -> list[list[int]]:
        """Aggregates that the function at ``pc`` mentions, in groups, those nearest to its variables first."""

    def type_named(self, name: str) -> int:
        """A structure, union, enumeration or typedef by its name; void if there is none."""

    def global_at(self, address: int) -> "tuple[GlobalVariable, int] | None":
        """(global variable, offset in it) at an address; None if there is none."""

    def variable_named(self, name: str) -> int:
        """The type of a variable defined in another file, by its symbol name; void if unknown."""

    def symbol_named(self, name: str) -> tuple[int, int]:
        """(address, size) of the only variable symbol of a name; (0, 0) if there is none or several."""

    def per_cpu_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """(per-CPU variable, offset in it) at an offset of the per-CPU section; None if there is none."""

    def thread_local_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """(thread-local variable, offset in it) at an offset of the module's TLS block; None if there is none."""

    def prototype_at(self, address: int) -> "Prototype | None":
        """The prototype of the function that starts at an address; None if unknown."""

    def prototype_named(self, name: str) -> "Prototype | None":
        """The prototype of a symbol name, of a clone by its full name; None if unknown."""
