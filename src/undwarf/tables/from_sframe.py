"""Unwind information from an SFrame section, of an ELF file or given on its own."""

from collections.abc import Callable, Sequence

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_REL, PF_X
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.address_ranges import disjoint
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_kinds import RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.section_source import SectionSource
from undwarf.tables.sframe.header import ABIS, AMD64, MASK, PT_GNU_SFRAME, read_header
from undwarf.tables.sframe.reader import SFrameFunctions
from undwarf.tables.sources import Provider, Request

Reader = Callable[[int, int], memoryview | None]


SUPPORTED = frozenset(ABIS)
"""ELF machines with their byte order."""


def providers(request: Request) -> list[Provider]:
    """Providers of functions: the file's section."""

    return [lambda: _from_elf(request)]


def find_section(elf: ElfFile) -> tuple[memoryview, int] | None:
    """Bytes and address of an ELF file's section, by its program header if there are no section headers."""
    section = elf.section(".sframe")
    if section is not None:
        data = elf.section_data(section)
        if data is not None and len(data):
            return data, section.address
    for segment in elf.segments:
        if segment.type == PT_GNU_SFRAME and segment.file_size:
            data = elf.read(segment.address, segment.file_size, writable=True)
            if data is not None:
                return data, segment.address
    return None


def _from_elf(request: Request) -> SectionSource | None:
    elf, defects = request.elf, request.defects
    found = find_section(elf)
    if found is None:
        return None
    if elf.kind == ET_REL:
        defects.add("unwind table not read", elf.path, detail=".sframe of a relocatable file")
        return None
    return source_of_section(
        *found,
        machine=elf.machine,
        byte_order=elf.byte_order,
        rules=request.rules,
        code=[(one.address, one.address + one.memory_size) for one in elf.loads if one.flags & PF_X],
        read=lambda address, size: elf.read(address, size, writable=True),
        subject=f"{elf.path} .sframe",
        limits=request.limits,
        defects=defects,
    )


def source_of_section(
    data: memoryview,
    address: int,
    *,
    machine: int,
    byte_order: str,
    rules: RuleSet,
    code: Sequence[tuple[int, int]] = (),
    read: Reader | None = None,
    subject: str = ".sframe",
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> SectionSource | None:
    """The functions of a section's bytes, loaded at ``address``; None, and a defect, if they are not of this machine.
    ``code``: (start, end) of executable memory. ``read(address, size)`` gives code."""
    found = defects if defects is not None else Defects()
    header = read_header(data)
    if isinstance(header, str):
        found.add("unreadable SFrame section", subject, detail=header)
        return None
    if ABIS.get((machine, byte_order)) != header.abi:
        found.add("unreadable SFrame section", subject, detail=f"ABI {header.abi} is not that of the file")
        return None
    functions = SFrameFunctions(data, address, header, rules, source=RuleSource.SFRAME, code=list(code), limits=limits)
    if functions.dropped:
        found.add("SFrame function without code or rows", subject, functions.dropped)
    if header.abi == AMD64 and read is not None:
        _correct_stubs(functions, read)
    if not len(functions.starts):
        return None
    return SectionSource(
        *disjoint(functions.starts, functions.ends),
        RowTable(functions, rules.lock, len(functions.starts)),
        damage="damaged SFrame function",
        subject=subject,
        defects=found,
    )


def _correct_stubs(functions: SFrameFunctions, read: Reader) -> None:
    """Lower the call frame address of linkage stubs that begin with their jump.

    ld to 2.47 writes for `.plt.got`, which pushes nothing, the rule of `.plt` after a push: eight bytes too many
    (binutils, bfd/elfxx-x86.c). Only stubs have rows that repeat, so that there are few to check.
    """
    for number, info in enumerate(functions.infos):
        if info & MASK and functions.blocks[number]:
            code = read(functions.starts[number], 16)
            if code is not None and _begins_with_jump(bytes(code)) and functions.states_pushed(number):
                functions.lowered[number] = 1


def _begins_with_jump(code: bytes) -> bool:
    """Whether code is an indirect jump, maybe after an endbr64 and a bnd."""
    return code.removeprefix(b"\xf3\x0f\x1e\xfa").removeprefix(b"\xf2").startswith(b"\xff\x25")
