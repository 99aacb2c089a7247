# cython: language_level=3, annotation_typing=False
"""One binary as the resolver asks for it: sections, symbols, callees, functions' bounds, bytes."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from undwarf.disasm import NONE, Action, Flow, Machine, listing_search
from undwarf.disasm.listing import Listing
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHF_EXECINSTR, SHF_WRITE
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.plt import Stubs
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.tables.code.noreturn_names import is_noreturn, is_panic
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.noreturn import is_endless
from undwarf.types.dataflow.preserved_registers import put_back
from undwarf.types.dataflow.returned_arguments import given_back
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.got import OffsetTable
from undwarf.types.sources.relocatable_objects import ObjectFile
from undwarf.types.sources.type_source import Prototype, TypeSource

if TYPE_CHECKING:
    from undwarf.tables.model import UnwindTable

_CALL, _INDIRECT_CALL, _INDIRECT_JUMP = Flow.CALL, Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP
_POP, _COPY, _LOAD, _PUSH = Action.POP, Action.COPY, Action.LOAD, Action.PUSH

_CFA_REGISTER = 1
_PT_TLS = 7
_SMALL = 1024
"""Bytes of functions whose changes, and ends, are looked for in their code."""
_CALL_SIZE = 5
"""Bytes of the longest direct call."""
_ACCESSOR = 160
"""Bytes of functions that may give back what they are given."""
_LISTINGS = 512
"""Small functions whose instructions are kept."""
_CALLS_DEEP = 16
"""Calls within calls that are looked into for that."""
_POINTER = 8
_COPIES = 8
"""Registers that the address of what is called is followed through."""
_PARAVIRTUAL = "pv_ops"


def _is_call(end: bytes, words: bool) -> bool:
    """Whether a function's last bytes may be a direct call; ``words``: of AArch64, else of x86."""
    return end[-1] >> 2 == 0x25 if words else end[0] == 0xE8


class Binary:
    """What is known of a file beside its types. ``debug`` is the file with symbols, if that is another; ``symbols`` are
    given where no file has them."""

    def __init__(
        self,
        elf: ElfFile,
        source: TypeSource,
        machine: Machine | None,
        debug: ElfFile | None = None,
        symbols: SymbolTable | None = None,
    ) -> None:
        self.elf = elf
        self.source = source
        self._machine = machine
        self._debug = debug
        if symbols is None and debug is not None:
            symbols = symbols_of_elf(debug)
        self.symbols = symbols_of_elf(elf) if symbols is None else symbols
        self.stubs = Stubs(elf, self.symbols)
        self.slots = OffsetTable(elf)
        self._table: UnwindTable | None = None
        self._last_rows: tuple[int, int, list[int], memoryview] = (0, 0, [], memoryview(b""))
        self._last_row: tuple[int, int, tuple[int, int] | None] = (0, 0, None)
        self._cfas: dict[int, tuple[int, int] | None] = {}
        self._changed: dict[int, frozenset[int] | None] = {}
        self._given_back: dict[int, tuple[int, int] | None] = {}
        self._listings: dict[int, Listing] = {}
        self._within = 0
        self._lost = sum(1 << one for one in machine.caller_saved if one < 64) if machine is not None else 0
        """The registers that calls change by convention, as bits."""
        self._paravirtual: range | None = None
        self._callees: dict[int, Prototype | None] = {}
        self._endless: dict[int, bool] = {}
        self._last_called: set[int] | None = None
        self._sections: list[tuple[int, int, str]] = sorted(
            (one.address, one.address + one.size, one.name)
            for one in elf.sections
            if one.address and one.size and one.flags & 2
        )

    @property
    def described(self) -> int:
        """Bytes of debugging information, here and in the debug file."""
        files = (self.elf, self._debug) if self._debug is not None else (self.elf,)
        return sum(one.size for file in files for one in file.sections if one.name == ".debug_info")

    def section_at(self, address: int) -> str:
        """The name of the section of memory that holds an address, else empty."""
        at = bisect_right(self._sections, (address, 1 << 65, "")) - 1
        if at >= 0 and self._sections[at][0] <= address < self._sections[at][1]:
            return self._sections[at][2]
        return ""

    def thread_block(self) -> int:
        """x86-64 counts thread-local variables back from the thread pointer (ELF TLS, variant II)."""
        for segment in self.elf.segments:
            if segment.type == _PT_TLS:
                align = max(segment.align, 1)
                return (segment.memory_size + align - 1) // align * align
        return 0

    def elsewhere(self, slot: int) -> int:
        """The type of another file's variable that a slot of the global offset table leads to; void for none."""
        name = self.slots.name(slot)
        return self.source.variable_named(name) if name else VOID

    def through_slots(self, instructions: Listing) -> None:
        """Calls through the global offset table are calls of what is behind the slot."""
        for k in instructions.calls_through_memory():
            target = self.slots.function(instructions.displacements[k])
            if target is not None:
                instructions.redirect(k, _CALL, target)
        calls = listing_search.with_flow(instructions.flows, _INDIRECT_CALL)
        # What may be come to from anywhere.
        anywhere = bool(calls) and bool(listing_search.with_flow(instructions.flows, _INDIRECT_JUMP))
        for k in calls:
            target = self._through_register(instructions, k, anywhere)
            if target is not None:
                instructions.redirect(k, _CALL, target)

    def _through_register(self, instructions: Listing, k: int, anywhere: bool) -> int | None:
        """The function that an indirect call through a register goes to, where that was loaded from the global offset
        table: the address of what is called often is kept. ``anywhere``: the function has jumps to anywhere."""
        made, flows = instructions[k], instructions.flows
        register = made.left if made.left != NONE else made.reads[0] if made.reads else NONE
        if self._machine is None or register == NONE or any(not one.implicit for one in made.memory):
            return None
        queue, seen, slots = [(k, register)], {register}, set()
        while queue:
            at, register = queue.pop()
            lost = register in self._machine.caller_saved
            if anywhere and not lost:
                # What is restored is the caller's.
                written = [one for one in instructions.writing(register) if instructions[one].action != _POP]
            else:
                written = instructions.writers(at, register)
            for one in written:
                source = instructions[one]
                if lost and (one > at or any(flows[one + 1 : at])):
                    return None
                if source.action == _COPY and source.width == _POINTER and len(seen) < _COPIES:
                    if source.left not in seen:
                        seen.add(source.left)
                        queue.append((one, source.left))
                elif source.action == _LOAD and source.memory[0].absolute and not source.memory[0].segment:
                    slots.add(source.memory[0].displacement)
                else:
                    return None
        return self.slots.function(slots.pop()) if len(slots) == 1 else None

    def through_native(self, instructions: Listing) -> None:
        """Calls through a kernel's table of paravirtual operations are calls of what that has at first.

        Others that may be there later leave the registers alone, too, that callers count on (asm/paravirt_types.h,
        `PV_CALLEE_SAVE`).
        """
        if self._paravirtual is None:
            low, size = self.source.symbol_named(_PARAVIRTUAL)
            self._paravirtual = range(low, low + size)
        for k in instructions.calls_through_memory():
            slot = instructions.displacements[k] & 0xFFFFFFFFFFFFFFFF
            raw = self.elf.read(slot, 8, writable=True) if slot in self._paravirtual else None
            target = int.from_bytes(raw, "little") if raw is not None else 0
            if target and self.executable(target):
                instructions.redirect(k, _CALL, target)

    def frame_rules(self, pcs: Iterable[int]) -> list[tuple[int, int] | None]:
        """(register, offset)s whose sums are the call frame addresses at instructions, by the unwind table."""
        found: list[tuple[int, int] | None] = []
        low, high, rule = self._last_row
        for pc in pcs:
            # Most blocks of a function lie in one row.
            if not low <= pc < high:
                rule = self._frame_rule(pc)
                low, high, _rule = self._last_row
            found.append(rule)
        return found

    def _unwind_table(self) -> "UnwindTable":
        if self._table is None:
            # Its modules are thirty, and many programs' frames are found without.
            from undwarf.tables.model import NO_RULE, RuleSet, UnwindTable

            rules = RuleSet(self.elf.limits)
            self._table = UnwindTable.from_elf(self.elf, rules=rules, debug_elf=lambda: self._debug)
            self._cfas[NO_RULE] = None
        return self._table

    def _frame_rule(self, pc: int) -> tuple[int, int] | None:
        functions = self._unwind_table().functions
        start, end, addresses, rules = self._last_rows
        if not start <= pc < end:
            # Asked for all blocks of one function, then for those of another.
            number = functions.at(pc)
            if number is None:
                self._last_row = pc, pc + 1, None
                return None
            start, end = functions.starts[number], functions.ends[number]
            rows, rules = functions.rows(number)
            addresses = rows.tolist()
            self._last_rows = start, end, addresses, rules
        row = bisect_right(addresses, pc)
        found = self._cfa(rules[row - 1]) if row else None
        begin = max(start, addresses[row - 1]) if row else start
        behind = min(end, addresses[row]) if row < len(addresses) else end
        self._last_row = begin, behind, found
        return found

    def _cfa(self, rule: int) -> tuple[int, int] | None:
        """(register, offset) of a rule whose call frame address is their sum."""
        if rule not in self._cfas:
            kind, register, offset = self._unwind_table().rules.words(rule)[:3]
            self._cfas[rule] = (register, offset) if kind == _CFA_REGISTER else None
        return self._cfas[rule]

    def callee(self, address: int) -> Prototype | None:
        """The prototype of what begins at an address; of its name alone where no more is known."""
        found = self._callees.get(address)
        if found is None and address not in self._callees:
            found = self.source.prototype_at(address)
            if found is None:
                name = self.name_at(address)
                if name:
                    found = self.source.prototype_named(name.removesuffix("@plt")) or Prototype(name, VOID, ())
            self._callees[address] = found
        return found

    def changed_by(self, address: int) -> frozenset[int] | None:
        """What a small function changes that calls only such; None where it is not one."""
        found = self._changed.get(address)
        if found is None and address not in self._changed:
            # What calls itself is not looked at again.
            self._changed[address] = None
            if self._within < _CALLS_DEEP:
                self._within += 1
                found = self._changed[address] = self._changes(address)
                self._within -= 1
        return found

    def given_back(self, address: int) -> tuple[int, int] | None:
        """(register, distance) where a small function returns what it is given in a register, and so much."""
        found = self._given_back.get(address)
        if found is None and address not in self._given_back:
            # What calls itself is not looked at again.
            self._given_back[address] = None
            place = self._small(address, _ACCESSOR)
            if self._machine is not None and place is not None and self._within < _CALLS_DEEP:
                self._within += 1
                found = self._given_back[address] = given_back(self._listing(*place), self._machine, self.given_back)
                self._within -= 1
        return found

    def _small(self, address: int, most: int) -> tuple[int, int] | None:
        """Where a function begins and ends that is so many bytes long at most, and no stub; None for others."""
        place = self.range_of(address)
        if place is None or place[0] != address or not 0 < place[1] - address <= most:
            return None
        return place if self.stubs.find(address) is None else None

    def _listing(self, low: int, high: int) -> Listing:
        """The instructions of a small function, of which several things are asked; none where there is no code."""
        found = self._listings.get(low)
        if found is None:
            assert self._machine is not None
            found = self._machine.listing(self._read(low, high - low) or b"", low)
            if len(self._listings) >= _LISTINGS:
                self._listings.clear()
            self._listings[low] = found
        return found

    def _changes(self, address: int) -> frozenset[int] | None:
        machine, place = self._machine, self._small(address, _SMALL)
        listing = self._listing(*place) if machine is not None and place is not None else None
        if machine is None or place is None or not listing:
            return None
        kept: frozenset[int] = frozenset()
        # Where jumps to functions are marked, as in kernels, that comes first.
        begin = listing[1] if len(listing) > 1 and not listing[0].reads and not listing[0].writes else listing[0]
        if begin.action == _PUSH and listing.may_push(self._lost):
            kept = put_back(machine, self._read, address) & machine.caller_saved
        changed = self._written(listing, place)
        if changed is None:
            return machine.caller_saved - kept if kept else None
        return (machine.caller_saved & changed) - kept

    def _written(self, listing: Listing, place: tuple[int, int]) -> set[int] | None:
        """What a function and those that it calls write; None where one of these is not known."""
        leaving = listing.control_transfers()
        if any(flow == _INDIRECT_CALL or (flow == _CALL and target is None) for flow, target in leaving):
            return None
        changed = set(listing.written())
        for flow, target in leaving:
            if target is not None and not place[0] <= target < place[1]:
                inner = self.changed_by(target)
                if inner is None:
                    return None
                changed |= inner
            elif flow == _CALL and target != place[0]:
                return None
        if any(flow == _INDIRECT_JUMP for flow, _target in leaving) and not self._switches_only(listing):
            return None
        return changed

    def _switches_only(self, listing: Listing) -> bool:
        """Whether all jumps to what a register says go on in the same function, as tables say."""
        machine = self._machine
        if machine is None:
            return False
        flow = FunctionFlow(listing, machine, self.read_loaded, self.never_returns)
        jumps = [k for k, one in enumerate(listing.flows.tolist()) if one & 15 == _INDIRECT_JUMP]
        return not flow.open and all(flow.blocks.successors(flow.block_of(k)) for k in jumps)

    def name_at(self, address: int) -> str:
        """The symbol or stub at an address, else empty."""
        stub = self.stubs.find(address)
        if stub is not None:
            return stub[1]
        if isinstance(self.elf, ObjectFile) and address in self.elf.undefined:
            return self.elf.undefined[address]
        named = self.slots.name(address)
        if named:
            return named
        if self.symbols is None:
            return ""
        number = self.symbols.find(address)
        if number is None or self.symbols.ranges()[0][number] != address:
            return ""
        return self.symbols.names_at(number)[0].decode("utf-8", "backslashreplace")

    def names_of(self, address: int) -> list[bytes]:
        """All symbols that a function has."""
        number = self.symbols.find(address) if self.symbols is not None else None
        return self.symbols.names_at(number) if self.symbols is not None and number is not None else []

    def never_returns(self, address: int) -> bool:
        """Whether a call of what begins at an address is the last thing a function does."""
        found = self._endless.get(address)
        if found is None:
            callee = self.callee(address)
            name = callee.name.removesuffix("@plt").partition("@")[0] if callee is not None else ""
            known = is_noreturn(name) or is_panic(name)
            # What calls itself is not looked at again.
            self._endless[address] = found = callee is not None and (callee.noreturn or known)
            if not found and self._within < _CALLS_DEEP:
                self._within += 1
                found = self._endless[address] = self._is_endless(address)
                self._within -= 1
        return found

    def _is_endless(self, address: int) -> bool:
        """Whether a small function's code never returns."""
        machine, place = self._machine, self._small(address, _SMALL)
        if machine is None or place is None or place[1] - address <= _CALL_SIZE or isinstance(self.elf, ObjectFile):
            return False
        end = self._read(place[1] - _CALL_SIZE, _CALL_SIZE)
        if end is None or not _is_call(end, machine.name != "x86_64"):
            return False
        return is_endless(self._listing(*place), self.never_returns)

    def may_not_return(self, address: int) -> bool:
        """Whether a call of what begins at an address is the very last instruction of a function: nothing can follow
        it there, as behind an assertion whose failure a compiler was told nothing comes after."""
        if self._last_called is None:
            self._last_called = set()
            machine = self._machine
            if self.symbols is not None and machine is not None and not isinstance(self.elf, ObjectFile):
                starts, ends = self.symbols.ranges()
                for one in self.elf.sections:
                    code = self.elf.read(one.address, one.size) if one.flags & SHF_EXECINSTR and one.size else None
                    if code is not None:
                        self._last_called |= listing_search.last_calls(
                            code, one.address, starts, ends, machine.name != "x86_64"
                        )
        return address in self._last_called

    def range_of(self, address: int) -> tuple[int, int] | None:
        """The bounds of the function that holds an address."""
        found = self.source.function_range(address)
        if found is not None:
            return found
        if self.symbols is not None:
            number = self.symbols.find(address)
            if number is not None:
                starts, ends = self.symbols.ranges()
                return starts[number], ends[number]
        return None

    def executable(self, address: int) -> bool:
        """Whether code may lie at an address."""
        return (
            any(
                one.flags & SHF_EXECINSTR and one.address <= address < one.address + one.size
                for one in self.elf.sections
            )
            or not self.elf.sections
        )

    def _read(self, address: int, size: int) -> bytes | None:
        data = self.elf.read(address & 0xFFFFFFFFFFFFFFFF, size)
        return None if data is None or len(data) < size else bytes(data[:size])

    def read_loaded(self, address: int, size: int) -> bytes | None:
        """Bytes of the file, an address as the dynamic linker writes it."""
        if size == 8:
            moved = self.slots.moved(address)
            if moved is not None:
                return moved.to_bytes(8, "little")
        return self._read(address, size)

    def constant_at(self, address: int) -> int | None:
        """The word in a section that nobody writes to, not even the dynamic linker."""
        section = self.section_at(address)
        data = self._read(address, 8) if section and self.is_constant(section) else None
        return int.from_bytes(data, "little", signed=True) if data is not None else None

    def is_constant(self, section: str) -> bool:
        """Whether the program cannot write to a section."""
        flags = next((one.flags for one in self.elf.sections if one.name == section), 0)
        return not flags & SHF_WRITE
