"""The data address of each sample: recorded, that of a breakpoint, or computed from registers.

A timer's sample is taken before its instruction is executed: the registers are those that the instruction will use. If
they are recorded (as for unwinding), they give the address without memory hardware. Registers of a precise sample are
later than its instruction: only those are used that no code writes on the way.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from undwarf.column import zeros
from undwarf.perfdata import EventAttr, PerfData, SampleField
from undwarf.perfdata.register_lateness import lateness, unmarked_is_late
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.data_lines import operand_addresses
from undwarf.profile.grouping import Pairs, look_up, widen
from undwarf.profile.late_registers import LateRegisters
from undwarf.profile.model import NONE, Column, Profile
from undwarf.unwind.arch import X86_64, machine_of
from undwarf.unwind.unwinder import windows
from undwarf.unwind.x86_64.registers import DWARF_OF_PERF

_FIXED, _BASE, _INDEX = 1, 2, 4
_BREAKPOINT, _EXECUTION = 5, 4
_PLAN_WORDS, _SLOTS = 6, 64
_AARCH64_REGISTERS = 32
_X86_64_STACK_POINTER, _AARCH64_STACK_POINTER = 7, 31
"""DWARF's numbers."""


@dataclass(slots=True)
class DataAddresses:
    """``column`` (Q) by sample, 0 if unknown; ``recorded`` and ``computed`` count the known ones."""

    column: Column
    recorded: int
    computed: int


def data_addresses(
    profile: Profile,
    touched: ResolvedAccesses,
    data: PerfData,
    machine: str,
    executed: frozenset[int],
    late: LateRegisters,
) -> DataAddresses:
    """The data addresses of a profile's samples. ``machine`` is the recording's (``uname -m``); samples of the events
    ``executed`` have the registers after the instruction."""
    columns = profile.samples.columns
    count = len(columns)
    found = zeros("Q", count)
    if columns.addr is not None:
        found[:] = columns.addr
    watched = _of_breakpoints(found, columns.event, data.events)
    recorded = count - found.tolist().count(0) if watched or columns.addr is not None else 0
    if columns.position is None or columns.regs_at is None or recorded == count:
        return DataAddresses(found, recorded, 0)
    leaves = look_up(columns.stack, profile.stacks.frame)
    plan_of, marked_plan_of, plans = _plans(profile, touched, leaves, columns.event, data, executed, late)
    slots = zeros("B", _SLOTS * max(len(data.events), 1))
    for number, event in enumerate(data.events):
        slots[number * _SLOTS : (number + 1) * _SLOTS] = _slots(event.sample_regs_user, machine)
    stack_pointer = _X86_64_STACK_POINTER if machine_of(machine) is X86_64 else _AARCH64_STACK_POINTER
    for position, length, first, end in windows(data, columns.position):
        with data.window(position, length) as view:
            operand_addresses(
                view, position, first, end, columns.position, columns.regs_at, columns.event, columns.ip, plan_of,
                marked_plan_of, plans, slots, stack_pointer, found,
            )  # fmt: skip  # rows of fields
    return DataAddresses(found, recorded, count - found.tolist().count(0) - recorded)


def _of_breakpoints(found: Column, event_of: Column, events: Sequence[EventAttr]) -> bool:
    """Fill in the addresses that breakpoints watch; whether there is any."""
    watched = {
        number: event.config1
        for number, event in enumerate(events)
        if event.type == _BREAKPOINT and event.bp_type != _EXECUTION and not event.sample_type & SampleField.ADDR
    }
    if watched:
        for sample, event in enumerate(event_of):
            found[sample] = watched.get(event, found[sample])
    return bool(watched)


def _plans(
    profile: Profile,
    touched: ResolvedAccesses,
    leaves: Column,
    event_of: Column,
    data: PerfData,
    executed: frozenset[int],
    late: LateRegisters,
) -> tuple[Column, Column, Column]:
    """(index of each sample's plan (I), of the plan it has if it is marked exact (I), the plans (q)), as
    :func:`operand_addresses` takes them."""
    words: list[int] = []
    used: list[frozenset[int]] = []
    frame_of: list[int] = []
    of_frame = zeros("I", max(len(profile.frames), 1))
    for frame, which in enumerate(touched.access):
        of_frame[frame] = NONE
        if which == NONE:
            continue
        access = touched.accesses[which]
        operand = access.operand
        if operand is None or operand.segment or access.type is None:
            continue
        kind = (_BASE if operand.base >= 0 else 0) | (_INDEX if operand.index >= 0 else 0)
        if max(operand.base, operand.index) >= _SLOTS or (kind and not touched.intact[frame]):
            continue
        if not kind and profile.images[profile.frames.image[frame]].kind != "file":
            # Only files have a known difference between file addresses and run-time addresses.
            continue
        of_frame[frame] = len(used)
        used.append(frozenset((operand.base, operand.index)) - {-1})
        frame_of.append(frame)
        words += (
            kind or _FIXED,
            max(operand.base, 0),
            max(operand.index, 0),
            operand.scale,
            _signed(operand.displacement),
            _signed(profile.frames.address[frame]),
        )
    plans = memoryview(array("q", words or bytes(8 * _PLAN_WORDS)))

    def after(plan: int, steps: int) -> int:
        """A plan, if it needs no register that code writes within so many instructions."""
        if not steps:
            return plan
        frame = frame_of[plan]
        written = late.written(profile.frames.image[frame], profile.frames.address[frame], steps)
        return NONE if written is None or used[plan] & written else plan

    header = data.features
    marked = executed | {number for number, event in enumerate(data.events) if event.precise_ip}
    steps_of = [lateness(event, header.cpuid, header.osrelease) for event in data.events]
    unmarked = [unmarked_is_late(event, header.cpuid, header.osrelease) for event in data.events]
    pairs = Pairs()
    both = pairs.column(look_up(leaves, of_frame), widen(event_of))
    table, marked_table = (zeros("I", max(len(pairs), 1)) for _kind in range(2))
    for number, (plan, event) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        table[number] = marked_table[number] = plan
        if plan != NONE and used[plan]:
            # Code is read only for events that may have marked samples.
            marked_table[number] = after(plan, steps_of[event]) if event in marked else NONE
            table[number] = after(plan, steps_of[event] if unmarked[event] else 0)
    return look_up(both, table), look_up(both, marked_table), plans


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _slots(mask: int, machine: str) -> bytes:
    """The index of each DWARF register in an event's register words; 255 for none."""
    numbers: Sequence[int | None] = DWARF_OF_PERF if machine_of(machine) is X86_64 else range(_AARCH64_REGISTERS)
    found = bytearray(b"\xff" * _SLOTS)
    word = 0
    for bit in range(64):
        if mask >> bit & 1:
            number = numbers[bit] if bit < len(numbers) else None
            if number is not None:
                found[number] = word
            word += 1
    return bytes(found)
