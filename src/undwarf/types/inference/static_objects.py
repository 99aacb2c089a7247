"""Variables that nothing describes, as BTF does not those inside of functions, by what is done with them where they
lie: an object of the only structure that has their symbol's size and all of that as members."""

from undwarf.disasm import NONE
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_properties import moves_vector
from undwarf.types.dataflow.program import Program
from undwarf.types.inference.structure_matching import of_size, several_kinds
from undwarf.types.layouts.fitting import Done, nothing_done
from undwarf.types.sources.places import GlobalVariable

__all__ = ["static_objects"]

_SMALL = 16
"""Bytes of objects that others may have the size of by chance."""
_PAIR = 8
"""Bytes of two numbers that are moved as one."""


def static_objects(program: Program, instructions: Listing) -> dict[int, GlobalVariable]:
    """By address, those that a function's instructions access. Members of several sizes must be among what is accessed:
    numbers in a row are no structure. Where nothing has numbers with a point wherever such are moved, two others may be
    moved as one that has."""
    found: dict[tuple[str, int, int], Done] = {}
    calculated: dict[tuple[str, int, int], set[tuple[int, int]]] = {}
    if program.kernel or not program.graph.complete:
        # Nothing would be told of them.
        return {}
    for k in range(len(instructions)):
        made = instructions[k]
        for operand in made.memory:
            if operand.base != NONE or operand.index != NONE or operand.segment or not operand.access:
                continue
            address = operand.displacement & 0xFFFFFFFFFFFFFFFF
            symbol = program.symbol_at(address)
            if symbol is None or symbol[2] <= _SMALL or program.source.global_at(address) is not None:
                continue
            done = found.setdefault(symbol, nothing_done())
            place = address - symbol[1], operand.size
            done.touched.add(place)
            if operand.floating:
                done.floating.add(place)
                if operand.size != _PAIR or moves_vector(made) == NONE:
                    calculated.setdefault(symbol, set()).add(place)
    told = {}
    for (name, address, size), done in found.items():
        t = of_size(program.graph, size, done) if several_kinds(done) else 0
        surely = calculated.get((name, address, size), set())
        if not t and surely != done.floating:
            done = done._replace(floating=surely)
            t = of_size(program.graph, size, done) if several_kinds(done) else 0
        if t:
            told[address] = GlobalVariable(name, t, address, size)
    return told
