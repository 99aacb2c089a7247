"""What refers to the functions of one image: direct calls, jumps, imports, and pointers.

A call of another image's function goes to a stub of the procedure linkage table, or through a slot of the global offset
table; both stand for the function here.
"""

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.disasm import Flow, machine_of
from undwarf.disasm.listing_search import with_flows
from undwarf.disasm.x86_encoding import CALLED, TAKEN
from undwarf.disasm.x86_references import References, pointers_in
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64, ET_EXEC, SHF_ALLOC, SHF_EXECINSTR, SHT_DYNSYM, SHT_RELA
from undwarf.symbols.elf_symtab import relocations_of_types
from undwarf.symbols.plt import Stubs
from undwarf.types.sources.data_symbols import DataSymbols

R_X86_64_64 = 1
R_X86_64_RELATIVE = 8
_JUMPS = 1 << Flow.JUMP | 1 << Flow.BRANCH | 1 << Flow.INDIRECT_JUMP
MAX_CODE = 1 << 20
"""Bytes of a function that are decoded."""
MAX_LAST = 1 << 12
"""Bytes of the last function, whose end is not known."""
RESOLVER = "*ABS*+0x"
"""How the stub is named that calls what a resolver without a symbol chooses, at the address that follows."""
MAX_JUMPS = 64
"""Functions that jump to another one, directly or through others, whose calls count as calls of that one."""


class EnteringCalls(NamedTuple):
    """Calls that may enter a function: their return addresses, ascending, and whether each calls it directly; others go
    to functions that jump to it."""

    return_addresses: list[int]
    direct: list[bool]


NO_CALLS = EnteringCalls([], [])


class CodeReferences:
    """The references in one image. ``starts`` (Q): the functions of its unwind information, ascending; ``stubs``: its
    procedure linkage table; ``exports``: whether other images are linked against it."""

    def __init__(
        self, elf: ElfFile, starts: memoryview, stubs: Stubs | None, symbols: DataSymbols, *, exports: bool = True
    ) -> None:
        self._exports = exports
        self._elf = elf
        self._starts = starts
        self._stubs = stubs
        self._symbols = symbols
        self._pointed: dict[int, bool | None] = {}
        self._calls: dict[int, EnteringCalls] = {}
        self._jumps_of: dict[int, memoryview] = {}
        self._entered: dict[int, tuple[list[int], set[int]]] = {}
        self._takers: dict[int, set[int]] = {}
        self._others: dict[CodeReferences, dict[int, list[str]]] = {}
        self._importing: dict[CodeReferences, bool] = {}
        self._resolved: dict[CodeReferences, dict[int, list[int]]] = {}
        self._imported: dict[CodeReferences, dict[int, tuple[EnteringCalls, set[int]]]] = {}

    @cached_property
    def _targets(self) -> memoryview:
        """Functions, stubs and slots of imports, ascending."""
        slots = self._stubs.slots if self._stubs is not None else {}
        stubs = self._stubs.starts if self._stubs is not None else {}
        found = sorted({*self._starts, *slots, *stubs, *self._own_slots})
        column = zeros("Q", len(found))
        for at, address in enumerate(found):
            column[at] = address
        return column

    @cached_property
    def _sections(self) -> list[References]:
        """What refers to the targets, by section of code."""
        elf = self._elf
        code = ((one.address, elf.section_data(one)) for one in elf.sections if one.flags & SHF_EXECINSTR)
        constants = elf.kind == ET_EXEC
        return [
            References(data, at, self._targets, constants=constants, branches=True)
            for at, data in code
            if data is not None
        ]

    def _sites(self, address: int) -> list[tuple[int, int]]:
        """(CALLED or TAKEN, address) of the references to a target."""
        number = bisect_left(self._targets, address)
        if number == len(self._targets) or self._targets[number] != address:
            return []
        return [one for section in self._sections for one in section.of(number)]

    @cached_property
    def _words(self) -> set[int]:
        """All words of data that are the start of a function: pointers, addends of relocations, dynamic symbols."""
        return self._pointers | self._words_in(symbols=True)

    @cached_property
    def _pointers(self) -> set[int]:
        """As :attr:`_words`, without dynamic symbols."""
        return self._words_in(symbols=False)

    def _words_in(self, *, symbols: bool) -> set[int]:
        """The starts of functions in the table of dynamic symbols, or in all other data."""
        found: set[int] = set()
        for section in self._elf.sections:
            data = None
            if section.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC and (section.type == SHT_DYNSYM) == symbols:
                data = self._elf.section_data(section)
            if data is not None:
                found |= pointers_in(data, self._starts)
        return found

    @cached_property
    def _named_in_data(self) -> frozenset[str]:
        """The symbols whose addresses the dynamic linker writes into data."""
        elf = self._elf
        numbers = set()
        for section in elf.sections:
            data = elf.section_data(section) if section.type == SHT_RELA else None
            if data is not None and elf.machine == EM_X86_64:
                kinds = (R_X86_64_64,) * 3
                rows = relocations_of_types(data, elf.is_64, False, True, kinds, elf.limits.symbols)
                numbers |= {symbol for _at, _kind, symbol, _addend in rows}
        return frozenset(self._stubs.symbol_names(numbers)) if self._stubs is not None else frozenset()

    def takes(self, name: str) -> bool:
        """Whether this image has a pointer to a dynamic symbol, in data or in code."""
        return name in self._named_in_data or any(
            kind == TAKEN for place in self._import_places.get(name, ()) for kind, _at in self._sites(place)
        )

    def has_pointer(self, start: int) -> bool:
        """Whether this image has a pointer to one of its functions, in data or in code, other than a dynamic symbol."""
        return start in self._pointers or any(
            kind == TAKEN for place in (start, *self._slots_of.get(start, ())) for kind, _at in self._sites(place)
        )

    @cached_property
    def _names_of(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for name, start in self.functions_by_name.items():
            found.setdefault(start, []).append(name)
        return found

    def exported_names(self, start: int) -> list[str]:
        """The names by which others may be linked against a function."""
        return self._names_of.get(start, [])

    def start_of(self, address: int) -> int | None:
        """The start of the stub at an address, or of the function that unwind information describes there or before."""
        stub = self._stubs.around(address) if self._stubs is not None else None
        if stub is not None:
            return stub[0]
        number = bisect_right(self._starts, address) - 1
        return self._starts[number] if number >= 0 else None

    def pointed_to(self, address: int) -> bool | None:
        """Whether the function at an address may be called through a pointer: one in code, in data, in a dynamic
        symbol, or to another function that jumps to it. None where nothing refers to it, as to a part of another."""
        start = self.start_of(address)
        if start is None:
            return None
        if start not in self._pointed:
            sites = self._sites(start)
            if start in self._words or any(kind == TAKEN or self._jumps_from(start, at) for kind, at in sites):
                self._pointed[start] = True
            else:
                self._pointed[start] = False if sites else None
        return self._pointed[start]

    def _jumps_from(self, start: int, site: int) -> bool:
        """Whether another function than that at ``start`` jumps at a site, found by :class:`References`."""
        function = self.start_of(site)
        if function is None or function == start or self._return_address(site) is not None:
            return False
        # Bytes that look like a short jump are often parts of other instructions.
        return self._is_jump(function, site)

    def _is_jump(self, function: int, site: int) -> bool:
        """Whether an instruction of the function at an address jumps at a site."""
        jumps = self._jumps(function)
        number = bisect_left(jumps, site)
        return number < len(jumps) and jumps[number] == site

    def _jumps(self, start: int) -> memoryview:
        """The addresses (Q, ascending) of the jumps in the function at an address."""
        if start not in self._jumps_of:
            number = bisect_right(self._starts, start)
            end = self._starts[number] if number < len(self._starts) else start + MAX_LAST
            code = self._elf.read(start, min(end - start, MAX_CODE))
            machine = machine_of(self._elf.machine)
            found = zeros("Q", 0)
            if code is not None and machine is not None:
                listing = machine.listing(bytes(code), start)
                numbers = with_flows(listing.flows, _JUMPS)
                found = zeros("Q", len(numbers))
                for at, number in enumerate(numbers):
                    found[at] = start + listing.offsets[number]
            self._jumps_of[start] = found
        return self._jumps_of[start]

    def _return_address(self, site: int) -> int | None:
        """The return address of the call at a site; None for a jump."""
        code = bytes(self._elf.read(site, 2) or b"")
        if code[:1] == b"\xe8":
            return site + 5
        return site + 6 if code == b"\xff\x15" else None

    def calls_of(self, address: int) -> EnteringCalls:
        """The calls in this image that may enter the function at an address of it."""
        start = self.start_of(address)
        if start is None:
            return NO_CALLS
        if start not in self._calls:
            waiting, seen = [start], {start}
            found: dict[int, bool] = {}
            while waiting:
                function = waiting.pop()
                calls, jumpers = self._entering(self._places_of(function))
                for back in calls:
                    found[back] = found.get(back, False) or function == start
                for jumper in sorted(jumpers - seen):
                    if len(seen) < MAX_JUMPS:
                        seen.add(jumper)
                        waiting.append(jumper)
            if not found:
                found = dict.fromkeys(self._entering(self._places_of_chosen(self, start))[0], False)
            self._calls[start] = sorted_calls(found)
        return self._calls[start]

    def jumping_to(self, function: int) -> set[int]:
        """The functions of this image that jump to one of its functions."""
        return self._entering(self._places_of(function))[1]

    def imports_of(self, other: "CodeReferences", address: int) -> tuple[EnteringCalls, set[int]]:
        """The calls in this image that may enter the function at an address of another image; the functions of this
        one that jump to it."""
        start = other.start_of(address)
        if start is None:
            return NO_CALLS, set()
        known = self._imported.setdefault(other, {})
        if start not in known:
            names = self._imports_from(other).get(start, ())
            places = [place for name in names for place in self._import_places[name]]
            calls, jumpers = self._entering(places or self._places_of_chosen(other, start))
            known[start] = sorted_calls(dict.fromkeys(calls, bool(places))), jumpers
        return known[start]

    @cached_property
    def _own_slots(self) -> dict[int, int]:
        """The functions of this image by the slot of its global offset table that has their address, as Rust calls
        them."""
        elf = self._elf
        table = elf.section(".got")
        if table is None or elf.machine != EM_X86_64:
            return {}
        found = {}
        for section in elf.sections:
            data = elf.section_data(section) if section.type == SHT_RELA else None
            if data is not None:
                kinds = (R_X86_64_RELATIVE,) * 3
                within = table.address, table.address + table.size
                rows = relocations_of_types(data, elf.is_64, False, True, kinds, elf.limits.symbols, within)
                found.update({at: to for at, _k, _s, to in rows})
        return found

    @cached_property
    def _slots_of(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for slot, function in self._own_slots.items():
            found.setdefault(function, []).append(slot)
        return found

    def _places_of(self, function: int) -> list[int]:
        """What code calls or jumps to, to enter a function of this image: itself, slots and stubs."""
        names = self._names.get(function, ())
        imported = [place for name in names for place in self._import_places[name]]
        return [function, *self._slots_of.get(function, ()), *imported]

    def _places_of_chosen(self, other: "CodeReferences", start: int) -> list[int]:
        """The stubs and slots in this image of what resolvers of ``other`` may choose a function for."""
        takers = other.takers(start)
        if not takers:
            return []
        by_resolver = self._resolved.get(other)
        if by_resolver is None:
            by_resolver = self._resolved[other] = {}
            for name, places in self._import_places.items():
                resolver = other.resolver(name)
                if resolver is not None:
                    by_resolver.setdefault(resolver, []).extend(places)
        return [place for taker in sorted(takers) for place in by_resolver.get(taker, ())]

    def _entering(self, places: list[int]) -> tuple[list[int], set[int]]:
        """The return addresses of calls to any of some places, and the functions that jump there."""
        calls: list[int] = []
        jumpers: set[int] = set()
        for place in places:
            if place not in self._entered:
                self._entered[place] = self._find_entering(place)
            found, jumping = self._entered[place]
            calls += found
            jumpers |= jumping
        return calls, jumpers

    def _find_entering(self, place: int) -> tuple[list[int], set[int]]:
        calls, jumpers = [], set()
        for kind, site in self._sites(place):
            back = self._return_address(site) if kind == CALLED else None
            if back is not None:
                calls.append(back)
                continue
            jumper = self.start_of(site) if kind == CALLED else None
            if jumper is not None and self._is_jump(jumper, site):
                jumpers.add(jumper)
        return calls, jumpers

    @cached_property
    def _names(self) -> dict[int, list[str]]:
        """The names by which this image imports functions of its own, by their start."""
        return self._imports_from(self)

    @cached_property
    def _import_places(self) -> dict[str, list[int]]:
        """The stubs and slots of each imported name."""
        found: dict[str, list[int]] = {}
        if self._stubs is not None:
            for places in (self._stubs.slots, self._stubs.starts):
                for address, name in places.items():
                    found.setdefault(name, []).append(address)
        return found

    def _imports_from(self, other: "CodeReferences") -> dict[int, list[str]]:
        """The imported names that another image defines, by the start of the function."""
        if other not in self._others:
            made = self._others[other] = {}
            defined = other.functions_by_name
            for name in sorted(self._import_places.keys() & defined.keys()):
                made.setdefault(defined[name], []).append(name)
        return self._others[other]

    def imports_any_of(self, other: "CodeReferences") -> bool:
        """Whether this image imports functions of another one."""
        if other not in self._importing:
            resolved = self._chooses or not other.resolvers.keys().isdisjoint(self._import_places)
            self._importing[other] = resolved or bool(self._imports_from(other))
        return self._importing[other]

    @cached_property
    def _chooses(self) -> bool:
        """Whether a stub calls what a resolver without a symbol chooses."""
        return any(name.startswith(RESOLVER) for name in self._import_places)

    @property
    def resolvers(self) -> dict[str, int]:
        """As :attr:`DataSymbols.resolvers`."""
        return self._symbols.resolvers

    def takers(self, start: int) -> set[int]:
        """The functions with a pointer to one in their code."""
        if start not in self._takers:
            self._takers[start] = {self.start_of(at) or 0 for kind, at in self._sites(start) if kind == TAKEN}
        return self._takers[start]

    def resolver(self, name: str) -> int | None:
        """The function of this image that chooses at run time what a name stands for, if one does."""
        if name.startswith(RESOLVER):
            return int(name.removeprefix(RESOLVER), 16)
        return self._symbols.resolvers.get(name)

    def may_choose(self, name: str, address: int) -> bool:
        """Whether a name may stand for the function at an address of this image, chosen at run time."""
        start = self.start_of(address)
        return start is not None and self.resolver(name) in self.takers(start)

    @property
    def functions_by_name(self) -> dict[str, int]:
        """The functions that other images may be linked against."""
        return self._symbols.functions_by_name if self._exports else {}

    def imported_in(self, slot: int) -> str | None:
        """The name that a slot of the global offset table imports."""
        return self._stubs.slots.get(slot) if self._stubs is not None else None

    def function_in(self, slot: int) -> int | None:
        """The function of this image whose address a slot of the global offset table has."""
        return self._own_slots.get(slot)


def sorted_calls(found: dict[int, bool]) -> EnteringCalls:
    """Calls by their return addresses: whether each is a direct one."""
    if not found:
        # Of most functions and images.
        return NO_CALLS
    addresses = sorted(found)
    return EnteringCalls(addresses, [found[one] for one in addresses])
