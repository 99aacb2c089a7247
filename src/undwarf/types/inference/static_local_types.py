"""Static variables without a declaration (BTF has none of a function's own): the only structure with the symbol's size
whose members fit all accesses."""

from collections.abc import Callable, Iterable

from undwarf.disasm import NONE
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_properties import moves_vector
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.structure_matching import of_size, several_kinds
from undwarf.types.layouts.access_pattern_fit import no_accesses
from undwarf.types.sources.type_source import GlobalVariable

__all__ = ["static_locals"]

_Symbol = tuple[str, int, int]
"""(name, address, size)."""

_SMALL = 16
"""Objects up to this size match several types by chance."""
_PAIR = 8
"""Size of two floats that are moved together."""


def static_locals(
    program: ProgramContext, instructions: Listing, callers: Callable[[], Iterable[Listing]] = lambda: ()
) -> dict[int, GlobalVariable]:
    """{address: variable} of undeclared static variables that a function accesses.

    Accesses of different sizes are required: equal ones may be an array. ``callers``, called if that is not enough,
    gives the code of the function's callers, which may pass the object's address.
    """
    if program.kernel or not program.graph.complete:
        # They would not be used.
        return {}
    told: dict[int, GlobalVariable] = {}
    untold: dict[_Symbol, _Accessed] = {}
    for symbol, own in _accessed(program, instructions).items():
        found = _told(program, symbol, own)
        if found is not None:
            told[symbol[1]] = found
        else:
            untold[symbol] = own
    for other in callers() if untold else ():
        for symbol, more in _accessed(program, other).items():
            if symbol in untold:
                untold[symbol].add(more)
    for symbol, everywhere in untold.items():
        found = _told(program, symbol, everywhere)
        if found is not None:
            told[symbol[1]] = found
    return told


class _Accessed:
    """Accesses of one object, and which floating-point ones are arithmetic."""

    def __init__(self) -> None:
        self.done = no_accesses()
        self.calculated: set[tuple[int, int]] = set()

    def add(self, other: "_Accessed") -> None:
        """Add accesses by other code."""
        self.done.add(other.done)
        self.calculated |= other.calculated


def _accessed(program: ProgramContext, instructions: Listing) -> dict[_Symbol, _Accessed]:
    """Accesses of undeclared objects by some instructions."""
    found: dict[_Symbol, _Accessed] = {}
    for k in range(len(instructions)):
        made = instructions[k]
        for operand in made.memory:
            if operand.base != NONE or operand.index != NONE or operand.segment or not operand.access:
                continue
            address = operand.displacement & 0xFFFFFFFFFFFFFFFF
            symbol = program.symbol_at(address)
            if symbol is None or symbol[2] <= _SMALL or program.source.global_at(address) is not None:
                continue
            there = found.setdefault(symbol, _Accessed())
            place = address - symbol[1], operand.size
            there.done.touched.add(place)
            if operand.floating:
                there.done.floating.add(place)
                if operand.size != _PAIR or moves_vector(made) == NONE:
                    there.calculated.add(place)
    return found


def _told(program: ProgramContext, symbol: _Symbol, there: _Accessed) -> GlobalVariable | None:
    """The variable that an object is; None if undecided. Floating-point moves may also copy two integers."""
    name, address, size = symbol
    done = there.done
    t = of_size(program.graph, size, done) if several_kinds(done) else 0
    if not t and there.calculated != done.floating:
        done = done._replace(floating=there.calculated)
        t = of_size(program.graph, size, done) if several_kinds(done) else 0
    return GlobalVariable(name, t, address, size) if t else None
