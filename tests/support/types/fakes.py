"""A source of types made by hand, and machine code from the assembler."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.elf_builder import program

from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.types.layouts.type_graph import Kind, Member, TypeGraph, TypeRecord
from undwarf.types.open_resolver import open_resolver
from undwarf.types.operand_resolver import OperandResolver
from undwarf.types.program_image import ProgramImage
from undwarf.types.resolver import Access, Resolver
from undwarf.types.sources.type_source import GlobalVariable, Place, Prototype


class Fake:
    """`struct node { node *next; long key; int hits; item *owner; }`, `struct item` around a `struct link`, globals."""

    def __init__(self) -> None:
        self.graph = graph = TypeGraph()
        self.int = graph.add(TypeRecord(Kind.INT, "int", 4))
        self.long = graph.add(TypeRecord(Kind.INT, "long int", 8))
        self.double = graph.add(TypeRecord(Kind.FLOAT, "double", 8))
        self.node = graph.add(TypeRecord(Kind.STRUCT, "node", 32, keyword="struct"))
        self.link = graph.add(TypeRecord(Kind.STRUCT, "link", 16, keyword="struct"))
        self.item = graph.add(TypeRecord(Kind.STRUCT, "item", 40, keyword="struct"))
        to_node, to_link, to_item = (graph.pointer_to(t) for t in (self.node, self.link, self.item))
        function = graph.add(TypeRecord(Kind.FUNCTION, target=to_node))
        self.ops = graph.add(
            TypeRecord(
                Kind.STRUCT, "ops", 8, keyword="struct", members=(self.member("get", 0, 8, graph.pointer_to(function)),)
            )
        )
        self.doubles = graph.add(TypeRecord(Kind.ARRAY, target=self.double, count=8))
        self.table = graph.add(
            TypeRecord(
                Kind.STRUCT,
                "table",
                72,
                keyword="struct",
                members=(self.member("n", 0, 8, self.long), self.member("of", 8, 64, self.doubles)),
            )
        )
        graph.record(self.node).members = (
            self.member("next", 0, 8, to_node),
            self.member("key", 8, 8, self.long),
            self.member("hits", 16, 4, self.int),
            self.member("owner", 24, 8, to_item),
        )
        graph.record(self.link).members = (self.member("next", 0, 8, to_link), self.member("prev", 8, 8, to_link))
        graph.record(self.item).members = (
            self.member("id", 0, 4, self.int),
            self.member("flags", 4, 4, self.int),
            self.member("link", 8, 16, self.link),
            self.member("value", 24, 8, self.long),
            self.member("owner", 32, 8, to_node),
        )
        self.variables: list[Place] = []
        self.globals: list[GlobalVariable] = []
        self.prototypes: dict[int, Prototype] = {}
        self.symbols: dict[str, tuple[int, int]] = {}

    @staticmethod
    def member(name: str, offset: int, size: int, t: int) -> Member:
        return Member(name, offset, size, 8 * offset, 0, t)

    def places(self, pc: int) -> list[list[Place]]:
        return [[place for place in self.variables if place.low <= pc < place.high]]

    def function_range(self, pc: int) -> tuple[int, int] | None:
        return None

    def describes(self, pc: int) -> bool:
        return True

    def by_assembler(self, pc: int) -> bool:
        return False

    def function_places(self, low: int, high: int) -> list[Place]:
        return [place for place in self.variables if place.low < high and place.high > low]

    def returned_at(self, pc: int) -> list[int]:
        """Nothing is inlined."""
        return []

    def type_parameters(self, pc: int) -> list[int]:
        """It is no template."""
        return []

    def related(self, pc: int) -> list[list[int]]:
        return []

    def global_at(self, address: int) -> tuple[GlobalVariable, int] | None:
        for one in self.globals:
            if one.address <= address < one.address + one.size:
                return one, address - one.address
        return None

    def variable_named(self, name: str) -> int:
        return 0

    def symbol_named(self, name: str) -> tuple[int, int]:
        return self.symbols.get(name, (0, 0))

    def per_cpu_at(self, offset: int) -> tuple[GlobalVariable, int] | None:
        return None

    def thread_local_at(self, offset: int) -> tuple[GlobalVariable, int] | None:
        return None

    def prototype_at(self, address: int) -> Prototype | None:
        return self.prototypes.get(address)

    def prototype_named(self, name: str) -> Prototype | None:
        return None

    def takes(self, *arguments: tuple[int, int], at: int = 0) -> None:
        """The function at an address has these pointers in these registers: (register, pointee)."""
        self.prototypes[at] = Prototype(
            "f", 0, (), at, arguments=tuple((register, self.graph.pointer_to(t), 0) for register, t in arguments)
        )

    def returns(self, at: int, t: int) -> None:
        """What is called at an address returns a pointer to a type."""
        self.prototypes[at] = Prototype("g", self.graph.pointer_to(t), (), at)


def assemble(text: str, folder: Path) -> bytes:
    """The bytes of x86-64 code in AT&T syntax; the test is skipped where there is no assembler."""
    if shutil.which("as") is None:
        pytest.skip("no assembler")
    (folder / "code.s").write_text(text + "\n")
    subprocess.run(["as", "--64", "-o", folder / "code.o", folder / "code.s"], check=True, capture_output=True)
    elf = ElfFile.open(folder / "code.o")
    if elf.machine != 62:
        pytest.skip("the assembler is for another machine")
    data = elf.section_data(".text")
    return bytes(data) if data is not None else b""


def operands_of(fake: Fake) -> OperandResolver:
    """What is asked of the operands of code whose file has nothing but the types."""
    binary = ProgramImage(ElfFile.from_bytes(program().build()), fake, MACHINE)
    return OperandResolver(binary, fake, kernel=False, linked=True)


def compiled(source: str, compiler: str, level: str, folder: Path) -> Path:
    """A program of C with debugging information; the test is skipped where it cannot be built for x86-64."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (folder / "a.c").write_text(source)
    command = [compiler, level, "-g", "-o", folder / "a", folder / "a.c"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"{compiler} does not build this")
    if ElfFile.open(folder / "a").machine != 62:
        pytest.skip("for x86-64 only")
    return folder / "a"


def resolver_of(program: Path) -> Resolver:
    """A resolver of a program that was asked nothing yet."""
    found = open_resolver(ElfFile.open(program))
    assert isinstance(found, Resolver)
    return found


def accesses(program: Path, function: str) -> list[Access]:
    """What the instructions of a function touch, in order."""
    resolver = resolver_of(program)
    low = resolver.binary.symbols.address_of_name(function.encode())
    assert low is not None
    flow = resolver.flow_at(low)
    assert flow is not None
    return [one for k in range(len(flow.instructions)) for one in resolver.at(flow.instructions.address_of(k))]


def answers(program: Path, function: str) -> set[str]:
    """The types and members that a function's memory accesses touch; "?" for unknown ones."""
    return {
        f"{one.type}.{one.field}".rstrip(".") if one.typed else "?"
        for one in accesses(program, function)
        if one.countable
    }


def in_union(fake: Fake, *types: int) -> int:
    """A union of pointers to types."""
    members = tuple(fake.member(f"m{t}", 0, 8, fake.graph.pointer_to(t)) for t in types)
    return fake.graph.add(TypeRecord(Kind.UNION, "either", 8, members=members, keyword="union"))
