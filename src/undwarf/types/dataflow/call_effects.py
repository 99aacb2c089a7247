# cython: language_level=3, annotation_typing=False
"""Effects of calls on the abstract state: arguments, returned values, clobbered registers, memory written through
pointers.

Input is a callee's address; facts come from its prototype, the calling convention, its code (registers it preserves,
arguments it returns) and the C library's known functions.
"""

from functools import cache

from undwarf.disasm import Machine
from undwarf.types.dataflow.abstract_values import ANYWHERE, OBJECT, value_of_type
from undwarf.types.dataflow.constants import COUNTED, REGISTERS, UNTOUCHED
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.dataflow.value_interner import ValueInterner
from undwarf.types.layouts.type_graph import Kind
from undwarf.types.sources.c_library import GIVEN_BACK, TAKEN, returned_number
from undwarf.types.sources.parameter_registers import argument_registers, returned_in_memory, stack_arguments
from undwarf.types.sources.type_source import Prototype

__all__ = ["CallEffects", "Returned"]

_ROOM = "*mut u8"
"""Type name of Rust's allocators' results, whatever is stored there."""
_PLACEMENT_NEW = frozenset(("operator new", "operator new[]", "_ZnwmPv", "_ZnamPv"))

_ROOMS = {".": UNTOUCHED, "r": UNTOUCHED, "n": COUNTED, "?": 0}
"""These by the characters of :data:`undwarf.types.sources.c_library.TAKEN`."""
_BUILT_IN = frozenset(("memcpy", "memmove", "memset", "memcmp", "bcmp"))
"""Functions that compilers call implicitly: every definition behaves as in C."""
_TRUTHS = frozenset(("bool", "_Bool"))

_TRANSPARENT = frozenset(("__fentry__", "mcount", "_mcount"))
"""Called for instrumentation; without effect on the caller."""
_THUNK = "__x86_indirect_thunk_"
"""Prefix of retpoline thunks, followed by the register that they jump to."""

Returned = tuple[tuple[int, int], ...]
"""(register, value id) pairs."""


def _bits(registers: tuple[int, ...]) -> tuple[int, int]:
    """Bit sets of registers: (below 64, from 64 on)."""
    whole = 0
    for one in registers:
        whole |= 1 << one
    return whole & 0xFFFFFFFFFFFFFFFF, whole >> 64


@cache
def _registers_of(machine: Machine) -> tuple[tuple[int, ...], tuple[int, int], int]:
    """(registers that calls clobber, the same as bit sets, bit set of the general registers)."""
    lost = tuple(one for one in machine.caller_saved if one < REGISTERS)
    return lost, _bits(lost), _bits(tuple(machine.general))[0]


class CallEffects:
    """The effects of calls of a program's functions, by address; values are ids. ``in_c``: the caller is C or C++, so
    that the C library's scalar types have their names."""

    def __init__(self, program: ProgramContext, values: ValueInterner, *, in_c: bool) -> None:
        self._in_c = in_c
        self._program = program
        self._values = values
        self._graph = program.graph
        self._machine = program.machine
        self.lost, self.lost_bits, self.general_bits = _registers_of(program.machine)
        self.result = program.machine.result
        self.passed_bits = sum(1 << one for one in program.machine.parameters)
        """Bit set of the integer argument registers."""
        self.highest = max(program.machine.result, program.machine.wide_result)
        """The highest result register."""

    def of(self, target: int | None) -> tuple[bool, Returned, Returned, int | None, int | None, int | None]:
        """(no effect, argument values, returned values, register it jumps to, register whose value it returns, offset
        added to that or None) of a callee."""
        machine = self._machine
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF) if target is not None else None
        if prototype is None:
            return False, (), (), None, None, None
        if prototype.name in _TRANSPARENT:
            return True, (), (), None, None, None
        returned: Returned = ()
        through = None
        if prototype.name.startswith(_THUNK):
            name = prototype.name[len(_THUNK) :]
            through = machine.names.index(name) if name in machine.names else None
        else:
            returns = prototype.returns
            if not returns and not prototype.parameters and self._in_c:
                returns = returned_number(self._graph, prototype.name.partition("@")[0])
            returned = self._returned(returns) if returns else ()
        same = machine.parameters[1] if self._places_only(prototype) else None
        if prototype.name.partition("@")[0] in GIVEN_BACK and (prototype.returns or not prototype.parameters):
            same = machine.parameters[0]
        back = self._returned_argument(prototype, target) if same is None and target is not None else None
        if back is not None:
            return False, self.passed(prototype), returned, through, *back
        return False, self.passed(prototype), returned, through, same, None

    def _returned_argument(self, prototype: Prototype, target: int) -> tuple[int, int] | None:
        """(register, offset) if a function returns its argument, or a pointer into it; else None."""
        if not self._graph.is_pointer(prototype.returns):
            return None
        return self._program.returned_argument(target & 0xFFFFFFFFFFFFFFFF)

    def taken(self, target: int) -> tuple[int, int]:
        """Bit sets of a callee: registers it is known to read, and registers it is known to overwrite."""
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF)
        if prototype is None:
            return 0, 0
        if prototype.name.startswith(_THUNK):
            return self.lost_bits[0], 0
        taken = _bits(tuple(register for register, _t, _piece in prototype.arguments))[0]
        if prototype.name in _PLACEMENT_NEW or prototype.name.partition("@")[0] in GIVEN_BACK:
            taken |= _bits(self._machine.parameters[:2])[0]
        return taken, 1 << self._machine.result if prototype.returns else 0

    def pointers(self, target: int | None) -> dict[int, int]:
        """{argument register: value id of the pointee} of arguments that are pointers to pointers."""
        graph = self._graph
        return {
            register: self._values.number(value_of_type(graph, t, 0, 8))
            for register, t in self._taken(target).items()
            if graph.is_pointer(t)
        }

    def rooms(self, target: int | None) -> dict[int, int]:
        """{argument register: bytes of its pointee}: 0 if unknown, COUNTED if the third argument has the size,
        UNTOUCHED if it is only read or no argument."""
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF) if target is not None else None
        name = prototype.name.partition("@")[0] if prototype is not None else ""
        taken = TAKEN.get(name)
        if taken is not None and (name in _BUILT_IN or not self._is_own(target)):
            parameters = self._machine.parameters
            return {one: _ROOMS[taken[k]] if k < len(taken) else UNTOUCHED for k, one in enumerate(parameters)}
        found = {register: self.room(t) for register, t in self._taken(target).items()}
        if prototype is not None and self._takes_no_more(prototype):
            known = {register for register, _t, _piece in self._arguments(prototype)}
            found |= dict.fromkeys((one for one in self._machine.parameters if one not in known), UNTOUCHED)
        return found

    def _is_own(self, target: int | None) -> bool:
        """Whether a function is the program's own, whatever its name."""
        return target is None or self._program.source.function_range(target) is not None

    def stack_rooms(self, target: int | None) -> tuple[tuple[int, int], ...]:
        """(offset from the stack pointer, bytes of the pointee) of pointer arguments on the stack."""
        graph = self._graph
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF) if target is not None else None
        if prototype is None or not self._takes_no_more(prototype):
            return ()
        given = stack_arguments(graph, prototype.parameters, prototype.returns)
        return tuple((offset, self.room(graph.target(t))) for offset, t in given if graph.is_pointer(t))

    def room(self, t: int) -> int:
        """Bytes that a callee may access through a pointer to a type; 0 if unbounded (characters, void)."""
        graph = self._graph
        size = graph.size(t)
        characters = size == 1 and graph.is_scalar(t) and graph.canonical_name(t) not in _TRUTHS
        return 0 if characters or graph.kind(graph.strip(t)) == Kind.VOID else size

    def _taken(self, target: int | None) -> dict[int, int]:
        """{argument register: pointee} of pointer arguments."""
        graph = self._graph
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF) if target is not None else None
        if prototype is None or not prototype.trusted or self._machine.name != "x86_64":
            return {}
        arguments = self._arguments(prototype)
        return {register: graph.target(t) for register, t, piece in arguments if not piece and graph.is_pointer(t)}

    def _arguments(self, prototype: Prototype) -> tuple[tuple[int, int, int], ...]:
        """(register, type, piece offset) of a function's register arguments."""
        return prototype.arguments or argument_registers(self._graph, prototype.parameters, prototype.returns)

    def _takes_no_more(self, prototype: Prototype) -> bool:
        """Whether a function takes exactly the parameters of its prototype."""
        known = prototype.trusted and not prototype.variadic and self._machine.name == "x86_64"
        sized = all(self._graph.size(t) > 0 for _name, t in prototype.parameters)
        return known and sized and bool(prototype.parameters)

    def returns_in_memory(self, prototype: Prototype) -> bool:
        """Whether a function returns a value in memory, with its address as the hidden first argument."""
        known = prototype.trusted and prototype.returns and self._machine.name == "x86_64"
        return bool(known and returned_in_memory(self._graph, prototype.returns))

    def _places_only(self, prototype: Prototype) -> bool:
        """Whether a function is C++'s placement `operator new`, which returns its second argument."""
        parameters = prototype.parameters
        named = prototype.name in _PLACEMENT_NEW and len(parameters) == 2
        return named and self._graph.is_void_pointer(parameters[1][1])

    def changed(self, target: int) -> tuple[int, ...]:
        """The registers that a function clobbers, which may be fewer than the ABI allows: compilers use that
        (-fipa-ra)."""
        changed = self._program.changed_by(target & 0xFFFFFFFFFFFFFFFF)
        return self.lost if changed is None else tuple(one for one in changed if one < REGISTERS)

    def refutes(self, target: int | None, register: int) -> bool | None:
        """Whether a call certainly overwrites a caller-saved register; None if it only may. ``target`` is None for an
        unknown callee."""
        if target is None:
            # A kernel patches such calls to callees that preserve more registers.
            return None if self._program.kernel else True
        prototype = self._program.callee(target & 0xFFFFFFFFFFFFFFFF)
        if prototype is not None and (prototype.name in _TRANSPARENT or prototype.name.startswith(_THUNK)):
            return False if prototype.name in _TRANSPARENT else None
        changed = self._program.changed_by(target & 0xFFFFFFFFFFFFFFFF)
        if changed is not None:
            return register in changed
        return True if register == self._machine.result and prototype is not None and prototype.returns else None

    def changed_bits(self, target: int) -> tuple[int, int]:
        """:meth:`changed` as bit sets: registers below 64, and from 64 on."""
        return _bits(self.changed(target))

    def passed(self, prototype: Prototype) -> Returned:
        """(register, value id) of a function's arguments at its entry."""
        if not prototype.trusted:
            return ()
        found = [(register, value_of_type(self._graph, t, piece, 8)) for register, t, piece in prototype.arguments]
        if prototype.inside is not None:
            within, offset = prototype.inside
            found = [
                (register, (*value[:4], offset) if register == within and value is not None else value)
                for register, value in found
            ]
        return tuple((register, self._values.number(value)) for register, value in found if value is not None)

    def returned_through(self, t: int) -> Returned:
        """(register, value id) returned by a call through a pointer of type ``t``."""
        returns = self._graph.returns(t)
        return self._returned(returns) if returns else ()

    def _returned(self, t: int) -> Returned:
        graph, machine = self._graph, self._machine
        if graph.record(t).name == _ROOM:
            return ()
        if graph.is_scalar(t):
            value = ANYWHERE if graph.is_void_pointer(t) else value_of_type(self._graph, t, 0, 8)
            return ((machine.result, self._values.number(value)),) if value is not None else ()
        size = graph.size(t)
        if size > 16 or graph.record(graph.strip(t)).by_reference:
            if machine.name == "x86_64":
                # The callee returns the address of the hidden argument.
                return ((machine.result, self._values.number((OBJECT, t, 0, 0, 0))),)
            return ()
        found = []
        for register, offset in ((machine.result, 0), (machine.wide_result, 8)):
            value = value_of_type(self._graph, t, offset, 8) if offset < size else None
            if value is not None:
                found.append((register, self._values.number(value)))
        return tuple(found)
