"""The instructions of a function: its own code, and where it is inlined into others."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.disasm import Instruction, machine_of
from undwarf.elf import ElfFile
from undwarf.images import Image
from undwarf.limits import DEFAULT, Limits
from undwarf.profile.model import Profile
from undwarf.symbols.demangle import demangle_all, demangle_own
from undwarf.symbols.elf_symbols import symbols_of_image
from undwarf.symbols.function_tables import described_table, searched_table
from undwarf.symbols.language_detection import has_code_of
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.views.source import Code, Target

if TYPE_CHECKING:
    from undwarf.symbols.inlines import Lines

NONE = 0xFFFFFFFF


class Place(NamedTuple):
    """An instruction's place in a function's source: ``file`` (empty if unknown) and ``line`` of that function, and the
    names of the functions ``inlined`` there that the instruction belongs to, outermost first (empty if unknown)."""

    file: str
    line: int
    inlined: tuple[str, ...]


NOWHERE = Place("", 0, ())


class Block(NamedTuple):
    """The instructions of a function from ``start`` to ``end`` of another one, or its ``own``."""

    start: int
    end: int
    own: bool
    code: list[tuple[Instruction, Place]]


@dataclass(slots=True)
class Disassembly:
    """A ``Disassemble`` of the source view, from images' code, symbols and debugging information.

    ``image`` gives an image by its index in the profile, ``lines`` its debugging information. At most
    ``limits.listed_code_bytes`` of code are read for one function; ``skipped`` sums up the bytes beyond that.
    """

    image: Callable[[int], Image]
    lines: "Callable[[Image], Lines | None]"
    limits: Limits = DEFAULT
    skipped: int = 0

    def __call__(self, profile: Profile, target: Target) -> list[tuple[str, int, Code]]:
        """The instructions by address, each with its source file (empty if unknown) and line."""
        listed = [
            (place.file, place.line, Code(insn.address, insn.text, inlined=place.inlined[-1] if place.inlined else ""))
            for block in self.blocks(profile, target)
            for insn, place in block.code
        ]
        return _weighed(profile, target, listed)

    def blocks(self, profile: Profile, target: Target, most: int | None = None) -> list[Block]:
        """The code of a target by address: its own, and where it is inlined. Only name, image, rows and total weights
        of the target are used. ``most``: as many bytes of code are read; None: as the limits allow."""
        image = self.image(target.image)
        elf = image.elf
        machine = machine_of(elf.machine) if elf is not None else None
        unnamed = bool(target.rows) and bool(profile.functions.unnamed[profile.frames.function[target.rows[0]]])
        table = None
        if elf is not None and unnamed:
            table = self._unnamed_functions(elf, profile.frames.address[target.rows[0]])
        elif elf is not None:
            table = symbols_of_image(image, self.limits)
        if machine is None or table is None or not image.runs_at_file_addresses:
            return []
        blocks: list[Block] = []
        for start, end in self._extents(profile, target, table, most):
            code = image.read(start, end - start)
            if code is not None:
                instructions = machine.decode(bytes(code), start)
                is_own = unnamed or self._is_own(target, table, start, image)
                blocks.append(Block(start, end, is_own, self._of_target(image, target, instructions, is_own)))
        return blocks

    def _unnamed_functions(self, elf: ElfFile, address: int) -> SymbolTable:
        """A table of functions without symbols that covers the address."""
        described = described_table(elf, self.limits)
        return described if described.find(address) is not None else searched_table(elf, self.limits, described)

    def _extents(self, profile: Profile, target: Target, table: SymbolTable, most: int | None) -> list[tuple[int, int]]:
        """(start, end) of the functions whose code has frames of the target: the heaviest ones within the limit."""
        weights: dict[tuple[int, int], int] = {}
        for row, weight in zip(target.rows, target.total, strict=True):
            symbol = table.find(profile.frames.address[row])
            if symbol is not None:
                extent = table.extent(symbol)
                weights[extent] = weights.get(extent, 0) + weight
        left = most if most is not None else self.limits.listed_code_bytes
        chosen = []
        for extent in sorted(weights, key=lambda extent: -weights[extent]):
            size = extent[1] - extent[0]
            if size <= left:
                left -= size
                chosen.append(extent)
            else:
                self.skipped += size
        return sorted(chosen)

    def _demangled(self, names: list[str], image: Image) -> list[str]:
        return demangle_all(demangle_own(names, partial(has_code_of, image), self.limits), self.limits)

    def _is_own(self, target: Target, table: SymbolTable, start: int, image: Image) -> bool:
        """Whether the function at ``start`` is the target, not one that the target is inlined into."""
        symbol = table.find(start)
        names = [name.decode("utf-8", "replace") for name in table.names_at(symbol)] if symbol is not None else []
        return target.name in names or target.name in self._demangled(names, image)

    def _of_target(
        self, image: Image, target: Target, instructions: list[Instruction], own: bool
    ) -> list[tuple[Instruction, Place]]:
        """The instructions of a function that belong to the target, each with its place; ``own``: the function is the
        target."""
        lines = self.lines(image)
        if lines is None:
            return [(insn, NOWHERE) for insn in instructions] if own else []
        addresses = zeros("Q", len(instructions))
        for i, insn in enumerate(instructions):
            addresses[i] = insn.address
        chains = lines.inline_chains(addresses)
        names = self._demangled(chains.names, image)
        listed = []
        for i, insn in enumerate(instructions):
            innermost, end = chains.first[i], chains.first[i + 1]
            for k in range(innermost, end):
                number = chains.name[k]
                if (own and k == end - 1) or (number != NONE and names[number] == target.name):
                    file = chains.files[chains.file[k]] if chains.file[k] != NONE else ""
                    numbers = [chains.name[inner] for inner in range(k - 1, innermost - 1, -1)]
                    inlined = tuple([names[one] if one != NONE else "" for one in numbers])
                    listed.append((insn, Place(file, chains.line[k], inlined)))
                    break
            else:
                if own:
                    listed.append((insn, NOWHERE))
        return listed


def _weighed(profile: Profile, target: Target, listed: list[tuple[str, int, Code]]) -> list[tuple[str, int, Code]]:
    """The instructions with the weights of their frames. The address of a sample is the start of an instruction, that
    of a caller is within the call instruction."""
    starts = [code.address for _file, _line, code in listed]
    own, total = [0] * len(listed), [0] * len(listed)
    for row, weight in zip(target.rows, target.total, strict=True):
        address = profile.frames.address[row]
        at = bisect_right(starts, address) - 1
        if at >= 0:
            total[at] += weight
            if starts[at] == address:
                own[at] += weight
    return [
        (file, line, Code(code.address, code.text, own[i], total[i], code.inlined))
        for i, (file, line, code) in enumerate(listed)
    ]
