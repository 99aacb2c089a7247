"""Programs of Go from any bytes: their table keeps its promises or is not used."""

import sys
from itertools import pairwise
from pathlib import Path

import mutate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.support.symbols.go_builder import GO_1_18, VERSIONS, Call, Function, Program

from undwarf.elf import ElfFile
from undwarf.elf.go_functions import GoFunctions
from undwarf.errors import ElfError
from undwarf.tables.model import NO_RULE, UnwindTable


def one_input(data: bytes) -> None:
    """The file."""
    try:
        elf = ElfFile.from_bytes(data, "p")
    except ElfError:
        return
    found = GoFunctions.of(elf)
    if found is None:
        return
    before = 0
    for number, (start, end) in enumerate(zip(found.starts[:100], found.ends[:100], strict=True)):
        assert before <= start < end, "functions are sorted, disjoint and not empty"
        before = end
        found.name(number)
        places = [address for address, _depth in found.depths(number)]
        assert all(one < other for one, other in pairwise(places)), "depths ascend"
        for address in (start, (start + end) // 2, end - 1):
            calls = found.inlined(number, address)
            assert all(start <= place < end for _name, place in calls), "calls lie in the function"
            assert len(found.lines(number, [address, *(place for _name, place in calls)])) == len(calls) + 1
    table = UnwindTable.from_elf(elf, "gopclntab")
    for function, (start, end) in enumerate(zip(table.starts[:100], table.ends[:100], strict=True)):
        addresses, rules = table.rows(function)
        assert addresses[0] == start and addresses[len(addresses) - 1] < end, "rows lie in the function"
        assert all(rule == NO_RULE or rule < len(table.rules) for rule in rules), "rules exist"


def seeds() -> list[bytes]:
    """Programs of each version."""
    calls = {"calls": [Call("b.c", 8), Call("d", 16)], "inlined": [(-1, 4), (0, 4), (1, 56)]}
    functions = [Function("a.b", **calls), Function("runtime.goexit", top=True), Function("e", lines=[(7, 3), (1, 61)])]
    made = [Program(functions, version).build() for version in VERSIONS]
    made.append(Program(functions, word=4, big=True, machine=183).build())
    made.append(Program(functions, GO_1_18, states_text=False, section=".go.buildinfo").build())
    return made


if __name__ == "__main__":
    mutate.main(one_input, seeds())
