"""Names procedure linkage table stubs, which have no symbols: ``name@plt``.

A stub jumps through a slot of the global offset table, and the relocation of that slot names the function. The stub
is decoded to find its slot, so that lazy, IBT (``.plt.sec``) and non-lazy (``.plt.got``) tables are all the same.
"""

from collections.abc import Iterable
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_386, EM_AARCH64, EM_X86_64, SHF_EXECINSTR, SHT_NOBITS, SHT_REL, SHT_RELA, Section
from undwarf.symbols.elf_symtab import relocations_of_types
from undwarf.symbols.symbol_table import SymbolTable

SECTIONS = (".plt", ".plt.sec", ".plt.got", ".plt.bnd")
MAX_RELOCATIONS = 200_000
"""Maximum slots read from a file; the largest programs have about ten thousand."""
MAX_NAME = 4096

_SLOT_TYPES = {EM_X86_64: (6, 7, 37), EM_386: (6, 7, 42), EM_AARCH64: (1025, 1026, 1032)}
"""GLOB_DAT, JUMP_SLOT and IRELATIVE, from each machine's psABI."""

_HEADERS = (b"\xff\x35", b"\xff\xb3")
"""How the part of a lazy table that calls the dynamic linker begins: push GOT[1], absolute or relative to ebx."""
_ENDBR = (b"\xf3\x0f\x1e\xfa", b"\xf3\x0f\x1e\xfb")
_BTI_C = 0xD503245F
_SUFFIX = "@plt"


class Stubs:
    """The stubs of one file; ``symbols`` name the targets of indirect functions."""

    def __init__(self, elf: ElfFile, symbols: SymbolTable | None = None) -> None:
        self._elf = elf
        self._symbols = symbols
        self._machine = elf.machine
        self._known: dict[int, tuple[int, str] | None] = {}

    @cached_property
    def sections(self) -> list[Section]:
        """The sections that hold stubs."""
        if self._machine not in _SLOT_TYPES:
            return []
        return [
            section
            for section in self._elf.sections
            if section.name in SECTIONS
            and section.flags & SHF_EXECINSTR
            and section.type != SHT_NOBITS
            and self._elf.section_data(section) is not None
        ]

    @cached_property
    def _has_second(self) -> bool:
        return any(section.name == ".plt.sec" for section in self.sections)

    def ranges(self) -> list[tuple[int, int]]:
        """(start, end) addresses of the stubs' sections."""
        return [(section.address, section.address + section.size) for section in self.sections]

    def find(self, address: int) -> tuple[int, str] | None:
        """(start of the stub, ``name@plt`` still mangled) at an address; None where there is no stub."""
        for section in self.sections:
            offset = address - section.address
            if 0 <= offset < section.size:
                header, size = self._layout(section)
                # Beside .plt.sec, .plt only has the lazy binding code, which perf does not name.
                if offset < header or (section.name == ".plt" and self._has_second):
                    return section.address, section.name
                at = header + (offset - header) // size * size
                start = section.address + at
                if start not in self._known:
                    name = self._name(section, at, size)
                    self._known[start] = (start, name) if name else None
                return self._known[start]
        return None

    def around(self, address: int) -> tuple[int, int] | None:
        """The start and end of the stub at an address; in the header of a table, which all its stubs jump to, those of
        the table. None outside of tables."""
        for section in self.sections:
            offset = address - section.address
            if 0 <= offset < section.size:
                header, size = self._layout(section)
                if offset < header:
                    return section.address, section.address + section.size
                start = address - (offset - header) % size
                return start, start + size
        return None

    @cached_property
    def slots(self) -> dict[int, str]:
        """The imported symbols by the slot of the global offset table that their address is put into."""
        kinds = _SLOT_TYPES.get(self._machine, ())[:2]
        slots = self._slots | self._bound
        return {slot: self._dynamic_name(symbol) for slot, (kind, symbol, _addend) in slots.items() if kind in kinds}

    @cached_property
    def starts(self) -> dict[int, str]:
        """The imported symbols by the start of the stub that jumps to them."""
        found = {}
        for section in self.sections:
            header, size = self._layout(section)
            for address in range(section.address + header, section.address + section.size - size + 1, size):
                stub = self.find(address)
                if stub is not None and stub[1].endswith(_SUFFIX):
                    found[address] = stub[1].removesuffix(_SUFFIX)
        return found

    def _layout(self, section: Section) -> tuple[int, int]:
        """Bytes of the header before the first stub, and of each stub."""
        if self._machine == EM_AARCH64:
            data = self._elf.section_data(section)
            # BTI or pointer authentication make stubs of six instructions.
            wide = data is not None and len(data) >= 56 and not _is_adrp(_word(data, 48))
            return 32, 24 if wide else 16
        if section.name == ".plt":
            code = bytes(self._elf.section_data(section)[:16])  # type: ignore[index]  # sections() has those with data
            if not code.startswith(_HEADERS):
                # A static program binds nothing lazily: its stubs, for indirect functions, begin at once.
                return 0, 8 if code[:2] == b"\xff\x25" and code[6:8] == b"\x66\x90" else 16
            return 16, 16
        return 0, section.entry_size if section.entry_size in (8, 16) else (8 if section.name == ".plt.got" else 16)

    def _name(self, section: Section, at: int, size: int) -> str:
        data = self._elf.section_data(section)
        if data is None:
            return ""
        code = bytes(data[at : at + size])
        start = section.address + at
        slot = self._slot_aarch64(code, start) if self._machine == EM_AARCH64 else self._slot_x86(code, start)
        found = self._bound.get(slot) or self._slots.get(slot) if slot is not None else None
        if found is None:
            return ""
        kind, symbol, addend = found
        if kind == _SLOT_TYPES[self._machine][2]:
            return self._indirect(addend)
        return self._dynamic_name(symbol) + _SUFFIX

    def _slot_x86(self, code: bytes, start: int) -> int | None:
        """The slot that ``[endbr] [bnd] jmp *slot`` reads, or that a lazy stub's ``push index`` stands for."""
        at = 4 if code.startswith(_ENDBR) else 0
        if code[at : at + 1] == b"\xf2":
            at += 1
        if code[at : at + 2] == b"\xff\x25" and len(code) >= at + 6:
            operand = int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
            if self._machine == EM_386:
                return operand & 0xFFFFFFFF
            return (start + at + 6 + operand) & 0xFFFFFFFFFFFFFFFF
        if code[at : at + 2] == b"\xff\xa3" and len(code) >= at + 6 and self._machine == EM_386:
            # Position-independent i386: jmp *offset(%ebx), relative to .got.plt.
            base = self._elf.section(".got.plt") or self._elf.section(".got")
            if base is not None:
                return (base.address + int.from_bytes(code[at + 2 : at + 6], "little", signed=True)) & 0xFFFFFFFF
        if code[at : at + 1] == b"\x68" and len(code) >= at + 5:
            index = int.from_bytes(code[at + 1 : at + 5], "little")
            if self._machine == EM_386:
                index //= 8
            return self._lazy[index] if index < len(self._lazy) else None
        return None

    def _slot_aarch64(self, code: bytes, start: int) -> int | None:
        """The slot of ``[bti c] adrp x16, page; ldr x17, [x16, #offset]``."""
        words = [_word(code, i) for i in range(0, len(code) - 3, 4)]
        at = 1 if words and words[0] == _BTI_C else 0
        if len(words) < at + 2 or not _is_adrp(words[at]) or words[at + 1] & 0xFFC003FF != 0xF9400211:
            return None
        adrp = words[at]
        pages = ((adrp >> 29) & 3) | ((adrp >> 5) & 0x7FFFF) << 2
        if pages & (1 << 20):
            pages -= 1 << 21
        page = ((start + 4 * at) & ~0xFFF) + (pages << 12)
        return (page + ((words[at + 1] >> 10) & 0xFFF) * 8) & 0xFFFFFFFFFFFFFFFF

    @cached_property
    def _bound(self) -> dict[int, tuple[int, int, int]]:
        """(type, symbol, addend) by slot, from the relocations for linkage stubs: nearly all that stubs use. The other
        sections of large libraries have ten times as many."""
        return {address: (kind, symbol, addend) for address, kind, symbol, addend in reversed(self._plt_relocations)}

    @cached_property
    def _slots(self) -> dict[int, tuple[int, int, int]]:
        """(type, symbol, addend) by slot, from all relocations."""
        found: dict[int, tuple[int, int, int]] = {}
        for section in self._elf.sections:
            if section.type in (SHT_RELA, SHT_REL) and section.name.startswith((".rel.", ".rela.")):
                for address, kind, symbol, addend in self._relocations(section):
                    found.setdefault(address, (kind, symbol, addend))
        return found

    @cached_property
    def _plt_relocations(self) -> list[tuple[int, int, int, int]]:
        section = self._elf.section(".rela.plt") or self._elf.section(".rel.plt")
        return self._relocations(section) if section is not None else []

    @cached_property
    def _lazy(self) -> list[int]:
        """The slots of .rela.plt by index."""
        return [address for address, _, _, _ in self._plt_relocations]

    def _relocations(self, section: Section) -> list[tuple[int, int, int, int]]:
        data = self._elf.section_data(section)
        if data is None:
            return []
        return relocations_of_types(
            data,
            self._elf.is_64,
            self._elf.byte_order == "big",
            section.type == SHT_RELA,
            _SLOT_TYPES[self._machine],
            MAX_RELOCATIONS,
        )

    def symbol_names(self, numbers: Iterable[int]) -> list[str]:
        """The names of dynamic symbols, by their numbers in the table."""
        return [self._dynamic_name(one) for one in numbers]

    def _dynamic_name(self, symbol: int) -> str:
        dynamic = self._elf.section(".dynsym")
        data = self._elf.section_data(dynamic) if dynamic is not None else None
        if dynamic is None or data is None or dynamic.link >= len(self._elf.sections):
            return ""
        size = 24 if self._elf.is_64 else 16
        strings = self._elf.section_data(self._elf.sections[dynamic.link])
        if strings is None or symbol * size + size > len(data):
            return ""
        at = int.from_bytes(data[symbol * size : symbol * size + 4], self._elf.byte_order)
        name = bytes(strings[at : at + MAX_NAME])
        return name[: name.find(b"\0")].decode("utf-8", "replace") if b"\0" in name else ""

    def _indirect(self, target: int) -> str:
        """A stub of an indirect function is named by the resolver it calls, as perf does."""
        if self._symbols is not None:
            symbol = self._symbols.find(target)
            if symbol is not None and self._symbols.ranges()[0][symbol] == target:
                names = self._symbols.names_at(symbol)
                best = max(names, key=lambda name: (len(name.lstrip(b"_")) - len(name), len(name)))
                return best.decode("utf-8", "replace") + "@plt"
        return f"*ABS*+{target:#x}@plt"


def _word(data: "bytes | memoryview", at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _is_adrp(word: int) -> bool:
    """Whether an AArch64 instruction is ``adrp x16, ...``."""
    return word & 0x9F00001F == 0x90000010
