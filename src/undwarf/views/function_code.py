"""The instructions of a function: its own code, and where it is inlined into others."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from undwarf.column import zeros
from undwarf.disasm import Instruction, machine_of
from undwarf.elf import ElfFile
from undwarf.images import Image
from undwarf.limits import DEFAULT, Limits
from undwarf.profile.model import Profile
from undwarf.symbols.demangle import demangle_all, demangle_own
from undwarf.symbols.elf_symbols import symbols_of_image
from undwarf.symbols.function_tables import described_table, searched_table
from undwarf.symbols.inlines import Lines
from undwarf.symbols.language_detection import has_code_of
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.views.source import Code, Target

NONE = 0xFFFFFFFF


@dataclass(slots=True)
class Disassembly:
    """Finds instructions by images' code, symbols and debugging information: a `Disassemble` of the source view.

    ``image`` gives an image by the profile's number, ``lines`` its debugging information. At most
    ``limits.listed_code_bytes`` of code are read for one function; :attr:`left` says how many bytes more there were.
    """

    image: Callable[[int], Image]
    lines: Callable[[Image], Lines | None]
    limits: Limits = DEFAULT
    left: int = 0

    def __call__(self, profile: Profile, target: Target) -> list[tuple[str, int, Code]]:
        """The instructions, ascending, each with its source file (empty if unknown) and line."""
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
        found: list[tuple[str, int, Code]] = []
        for start, end in self._stretches(profile, target, table):
            code = image.read(start, end - start)
            if code is not None:
                made = machine.decode(bytes(code), start)
                found += self._belonging(image, target, made, unnamed or self._is_own(target, table, start, image))
        return _weighed(profile, target, found)

    def _unnamed_functions(self, elf: ElfFile, address: int) -> SymbolTable:
        """The table of functions without a symbol that has the one at an address."""
        described = described_table(elf, self.limits)
        return described if described.find(address) is not None else searched_table(elf, self.limits, described)

    def _stretches(self, profile: Profile, target: Target, table: SymbolTable) -> list[tuple[int, int]]:
        """(start, end) of the functions whose code has frames of this one, the heaviest ones if there are too many."""
        weights: dict[tuple[int, int], int] = {}
        for row, weight in zip(target.rows, target.total, strict=True):
            symbol = table.find(profile.frames.address[row])
            if symbol is not None:
                extent = table.extent(symbol)
                weights[extent] = weights.get(extent, 0) + weight
        room = self.limits.listed_code_bytes
        chosen = []
        for extent in sorted(weights, key=lambda extent: -weights[extent]):
            size = extent[1] - extent[0]
            if size <= room:
                room -= size
                chosen.append(extent)
            else:
                self.left += size
        return sorted(chosen)

    def _demangled(self, names: list[str], image: Image) -> list[str]:
        return demangle_all(demangle_own(names, partial(has_code_of, image), self.limits), self.limits)

    def _is_own(self, target: Target, table: SymbolTable, start: int, image: Image) -> bool:
        """Whether the code at ``start`` is the function's own."""
        symbol = table.find(start)
        names = [name.decode("utf-8", "replace") for name in table.names_at(symbol)] if symbol is not None else []
        return target.name in names or target.name in self._demangled(names, image)

    def _belonging(
        self, image: Image, target: Target, code: list[Instruction], own: bool
    ) -> list[tuple[str, int, Code]]:
        """Those of a function's instructions that belong to the target, with their places in its source."""
        lines = self.lines(image)
        if lines is None:
            return [("", 0, Code(one.address, one.text)) for one in code] if own else []
        addresses = zeros("Q", len(code))
        for i, one in enumerate(code):
            addresses[i] = one.address
        chains = lines.inline_chains(addresses)
        names = self._demangled(chains.names, image)
        found = []
        for i, one in enumerate(code):
            begin, end = chains.first[i], chains.first[i + 1]
            for k in range(begin, end):
                number = chains.name[k]
                if (own and k == end - 1) or (number != NONE and names[number] == target.name):
                    file = chains.files[chains.file[k]] if chains.file[k] != NONE else ""
                    within = chains.name[begin] if k > begin else NONE
                    inlined = names[within] if within != NONE else ""
                    found.append((file, chains.line[k], Code(one.address, one.text, inlined=inlined)))
                    break
            else:
                if own:
                    found.append(("", 0, Code(one.address, one.text)))
        return found


def _weighed(profile: Profile, target: Target, found: list[tuple[str, int, Code]]) -> list[tuple[str, int, Code]]:
    """The instructions with the weights of the frames that lie in them.

    A sampled address is where its instruction starts; a caller's lies within the call.
    """
    starts = [code.address for _file, _line, code in found]
    own, total = [0] * len(found), [0] * len(found)
    for row, weight in zip(target.rows, target.total, strict=True):
        address = profile.frames.address[row]
        at = bisect_right(starts, address) - 1
        if at >= 0:
            total[at] += weight
            if starts[at] == address:
                own[at] += weight
    return [
        (file, line, Code(code.address, code.text, own[i], total[i], code.inlined))
        for i, (file, line, code) in enumerate(found)
    ]
