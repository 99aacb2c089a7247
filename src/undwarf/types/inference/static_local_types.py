"""Variables that nothing describes, as BTF does not those inside of functions, by what is done with them where they
lie: an object of the only structure that has their symbol's size and all of that as members."""

from collections.abc import Callable, Iterable

from undwarf.disasm import NONE
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_properties import moves_vector
from undwarf.types.dataflow.program_context import Program
from undwarf.types.inference.structure_matching import of_size, several_kinds
from undwarf.types.layouts.access_pattern_fit import nothing_done
from undwarf.types.sources.type_source import GlobalVariable

__all__ = ["static_objects"]

_Symbol = tuple[str, int, int]
"""Name, address and size."""

_SMALL = 16
"""Bytes of objects that others may have the size of by chance."""
_PAIR = 8
"""Bytes of two numbers that are moved as one."""


def static_objects(
    program: Program, instructions: Listing, callers: Callable[[], Iterable[Listing]] = lambda: ()
) -> dict[int, GlobalVariable]:
    """By address, those that a function's instructions access. Members of several sizes must be among what is accessed:
    numbers in a row are no structure. ``callers``, asked where that is not enough, gives the code of functions that
    call this one: it may be made for the one object that such a function has, and given."""
    if program.kernel or not program.graph.complete:
        # Nothing would be told of them.
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
    """What is done in one object, and which of its numbers with a point are calculated with."""

    def __init__(self) -> None:
        self.done = nothing_done()
        self.calculated: set[tuple[int, int]] = set()

    def add(self, other: "_Accessed") -> None:
        """Add what is done elsewhere."""
        self.done.add(other.done)
        self.calculated |= other.calculated


def _accessed(program: Program, instructions: Listing) -> dict[_Symbol, _Accessed]:
    """What instructions do in objects that nothing describes."""
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


def _told(program: Program, symbol: _Symbol, there: _Accessed) -> GlobalVariable | None:
    """The variable that an object is. Where nothing has numbers with a point wherever such are moved, two others may be
    moved as one that has."""
    name, address, size = symbol
    done = there.done
    t = of_size(program.graph, size, done) if several_kinds(done) else 0
    if not t and there.calculated != done.floating:
        done = done._replace(floating=there.calculated)
        t = of_size(program.graph, size, done) if several_kinds(done) else 0
    return GlobalVariable(name, t, address, size) if t else None
