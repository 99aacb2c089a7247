"""Stacks walked by ORC: each kind of frame on a stack that was made for it, then many frames of any kind."""

import random
import struct
from pathlib import Path

import pytest
from tests.support.perfdata import build
from tests.support.tables.orc_builder import HEADER_4, linked

from undwarf import StopReason
from undwarf.api import open_recording
from undwarf.tables.orc.entries import LAYOUT_4, Base, Entry, Kind, encode

TEXT = 0x401000
CODE = b"\x90" * 0x4000
STACK = 0x7FFF00000000
USER_CS, KERNEL_CS = 0x33, 0x10
PERF = {name: bit for bit, name in enumerate(("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"))}
PERF |= {f"r{number}": number + 8 for number in range(8, 16)}
REGS = 21 * 8
"""Bytes of struct pt_regs."""
IN_REGS = {
    "r15": 0, "r14": 1, "r13": 2, "r12": 3, "bp": 4, "bx": 5, "r11": 6, "r10": 7, "r9": 8, "r8": 9, "ax": 10, "cx": 11,
    "dx": 12, "si": 13, "di": 14, "ip": 16, "cs": 17, "sp": 19,
}  # fmt: skip  # a table
BUILD = build.Build()

CALL = Entry(Kind.CALL, Base.SP, 8)
LAST = Entry(Kind.END)


class Machine:
    """Code at 16 bytes a function, each with one entry, and a stack whose words are set by address."""

    def __init__(self, *entries: Entry) -> None:
        self.entries = entries
        self.words: dict[int, int] = {}
        self.registers = {"sp": STACK, "ip": TEXT + 4}

    def at(self, number: int, offset: int = 4) -> int:
        """An address in a function."""
        return TEXT + 16 * number + offset

    def pt_regs(self, place: int, **registers: int) -> None:
        """Saved registers at an address; those not given are zero."""
        for i in range(REGS // 8):
            self.words.setdefault(place + 8 * i, 0)
        for name, value in ({"cs": KERNEL_CS} | registers).items():
            self.words[place + 8 * IN_REGS[name]] = value

    def iret(self, place: int, ip: int, sp: int, cs: int = KERNEL_CS) -> None:
        for i, word in enumerate((ip, cs, 0, sp, 0x18)):
            self.words[place + 8 * i] = word

    def walk(self, path: Path, unwind: str = "orc") -> tuple[list[int], StopReason]:
        """(numbers of the functions, why it ended)."""
        rows = []
        for i, entry in enumerate(self.entries):
            value = encode(LAYOUT_4, entry)
            assert value is not None
            rows.append((TEXT + 16 * i, value))
        rows.append((TEXT + 16 * len(rows), 0))
        binary = path / "code"
        binary.write_bytes(linked(rows, header=HEADER_4, code=CODE))
        offset = binary.read_bytes().index(CODE)
        top = max(self.words, default=STACK) + 8
        memory = b"".join(struct.pack("<Q", self.words.get(at, 0)) for at in range(STACK, top, 8)) or bytes(8)
        mask = sum(1 << bit for bit in PERF.values())
        values = [self.registers.get(name, 0) for name in sorted(PERF, key=PERF.__getitem__)]
        attr = build.Attr(sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=mask, stack=len(memory))
        records = [
            BUILD.mmap2(attr, str(binary).encode(), start=TEXT, length=len(CODE), pgoff=offset, where=(0, 0, 0, 0)),
            BUILD.sample(attr, ip=self.registers["ip"], tid=10, regs=values, stack=memory, time=2000),
        ]
        (path / "perf.data").write_bytes(BUILD.file([attr], records))
        with open_recording(path / "perf.data", unwind=unwind) as recording:
            (sample,) = recording.profile(by_time=True, runtime=True).samples
        return [(frame.runtime - TEXT) // 16 for frame in sample.stack], sample.stop


def test_calls_by_stack_and_frame_pointer(tmp_path):
    machine = Machine(
        CALL,
        Entry(Kind.CALL, Base.SP, 32, Base.PREV_SP, -16),
        Entry(Kind.CALL, Base.BP, 16, Base.PREV_SP, -16),
        LAST,
    )
    machine.words = {STACK: machine.at(1), STACK + 8 + 16: STACK + 64, STACK + 8 + 24: machine.at(2)}
    machine.words |= {STACK + 64: 0, STACK + 72: machine.at(3)}
    assert machine.walk(tmp_path) == ([0, 1, 2, 3], StopReason.ROOT)


def test_a_return_address_belongs_to_the_call_before_it(tmp_path):
    machine = Machine(CALL, Entry(Kind.CALL, Base.SP, 16), CALL, LAST)
    # The call was the last instruction of function 1: what follows it is another function.
    machine.words = {STACK: machine.at(2, 0), STACK + 16: machine.at(3)}
    assert machine.walk(tmp_path) == ([0, 1, 3], StopReason.ROOT)


def test_an_interrupted_address_is_exact(tmp_path):
    machine = Machine(Entry(Kind.REGS, Base.SP, 0, signal=True), Entry(Kind.CALL, Base.SP, 80), CALL, LAST)
    machine.pt_regs(STACK, ip=machine.at(2, 0), sp=STACK + REGS)
    machine.words[STACK + REGS] = machine.at(3)
    assert machine.walk(tmp_path) == ([0, 2, 3], StopReason.ROOT)


def test_without_the_signal_bit_saved_registers_are_not_exact(tmp_path):
    machine = Machine(Entry(Kind.REGS, Base.SP, 0), Entry(Kind.CALL, Base.SP, 16), CALL, LAST)
    machine.pt_regs(STACK, ip=machine.at(2, 0), sp=STACK + REGS)
    machine.words[STACK + REGS + 8] = machine.at(3)
    assert machine.walk(tmp_path) == ([0, 1, 3], StopReason.ROOT)


def test_registers_of_an_interruption_are_those_saved(tmp_path):
    machine = Machine(Entry(Kind.REGS, Base.SP, 8, signal=True), Entry(Kind.CALL, Base.BP, 16), LAST)
    machine.pt_regs(STACK + 8, ip=machine.at(1), sp=STACK + 8 + REGS, bp=STACK + 512)
    machine.words[STACK + 520] = machine.at(2)
    assert machine.walk(tmp_path) == ([0, 1, 2], StopReason.ROOT)


def test_five_registers_are_saved_and_the_stack_may_be_another(tmp_path):
    machine = Machine(Entry(Kind.PARTIAL, Base.SP, 16, signal=True), CALL, LAST)
    machine.iret(STACK + 16, machine.at(1, 0), STACK + 256)
    machine.words[STACK + 256] = machine.at(2)
    assert machine.walk(tmp_path) == ([0, 1, 2], StopReason.ROOT)


@pytest.mark.parametrize("kind", [Kind.REGS, Kind.PARTIAL])
def test_user_mode_below_an_interruption_is_the_end(tmp_path, kind):
    machine = Machine(Entry(kind, Base.SP, 0, signal=True), LAST)
    if kind is Kind.REGS:
        machine.pt_regs(STACK, ip=0x1234, sp=STACK + REGS, cs=USER_CS)
    else:
        machine.iret(STACK, 0x1234, STACK + 64, USER_CS)
    assert machine.walk(tmp_path) == ([0], StopReason.ROOT)


def test_a_stack_that_was_switched_is_found_by_the_word_on_top(tmp_path):
    machine = Machine(Entry(Kind.CALL, Base.SP_INDIRECT, 8, Base.PREV_SP, -16), Entry(Kind.CALL, Base.BP, 16), LAST)
    machine.words = {STACK: STACK + 400, STACK + 408 - 16: STACK + 600, STACK + 400: machine.at(1)}
    machine.words[STACK + 608] = machine.at(2)
    assert machine.walk(tmp_path) == ([0, 1, 2], StopReason.ROOT)


def test_a_realigned_stack_is_found_by_a_word_below_the_frame_pointer(tmp_path):
    machine = Machine(Entry(Kind.CALL, Base.BP_INDIRECT, -8, Base.BP, 0), Entry(Kind.CALL, Base.BP, 16), LAST)
    machine.registers["bp"] = STACK + 64
    machine.words = {STACK + 56: STACK + 128, STACK + 64: STACK + 256, STACK + 120: machine.at(1)}
    machine.words[STACK + 264] = machine.at(2)
    assert machine.walk(tmp_path) == ([0, 1, 2], StopReason.ROOT)


BASES = {Base.R10: "r10", Base.R13: "r13", Base.DI: "di", Base.DX: "dx", Base.AX: "ax"}


@pytest.mark.parametrize(("base", "name"), BASES.items(), ids=BASES.values())
def test_bases_that_only_an_interruption_knows(tmp_path, base, name):
    # The kernel takes the register as it is: the offset does not count.
    machine = Machine(Entry(Kind.REGS, Base.SP, 0, signal=True), Entry(Kind.CALL, base, 64), LAST)
    machine.pt_regs(STACK, ip=machine.at(1), sp=STACK + REGS, **{name: STACK + 512})
    machine.words[STACK + 504] = machine.at(2)
    assert machine.walk(tmp_path) == ([0, 1, 2], StopReason.ROOT)


@pytest.mark.parametrize(("base", "name"), BASES.items(), ids=BASES.values())
def test_behind_a_call_they_are_not_known(tmp_path, base, name):
    machine = Machine(CALL, Entry(Kind.CALL, base), LAST)
    machine.registers[name] = STACK + 512
    machine.words = {STACK: machine.at(1), STACK + 504: machine.at(2)}
    assert machine.walk(tmp_path) == ([0, 1], StopReason.UNKNOWN_REGISTER)


@pytest.mark.parametrize(("base", "name"), BASES.items(), ids=BASES.values())
def test_in_the_sampled_frame_they_are_known(tmp_path, base, name):
    machine = Machine(Entry(Kind.CALL, base), LAST)
    machine.registers[name] = STACK + 512
    machine.words[STACK + 504] = machine.at(1)
    assert machine.walk(tmp_path) == ([0, 1], StopReason.ROOT)


def test_an_interruption_of_an_interruption_keeps_what_the_first_saved(tmp_path):
    """An NMI that hits early interrupt entry code, before it has saved all registers."""
    machine = Machine(
        Entry(Kind.REGS, Base.SP, 0, signal=True),
        Entry(Kind.PARTIAL, Base.SP, 0, signal=True),
        Entry(Kind.CALL, Base.R10, 0, Base.BP, 0),
        Entry(Kind.CALL, Base.BP, 16),
        LAST,
    )
    machine.pt_regs(STACK, ip=machine.at(1), sp=STACK + REGS, r10=STACK + 512, bp=STACK + 400)
    machine.iret(STACK + REGS, machine.at(2), STACK + REGS + 64)
    machine.words |= {STACK + 504: machine.at(3), STACK + 400: STACK + 600, STACK + 608: machine.at(4)}
    assert machine.walk(tmp_path) == ([0, 1, 2, 3, 4], StopReason.ROOT)


def test_code_without_an_entry_ends_the_stack(tmp_path):
    machine = Machine(CALL, Entry(Kind.UNDEFINED), LAST)
    machine.words = {STACK: machine.at(1), STACK + 8: machine.at(2)}
    assert machine.walk(tmp_path) == ([0, 1], StopReason.NO_RULE)


def test_a_stack_that_goes_down_ends(tmp_path):
    machine = Machine(Entry(Kind.CALL, Base.SP, -64), LAST)
    machine.words[STACK] = machine.at(1)
    assert machine.walk(tmp_path) == ([0], StopReason.BAD_CFA)


def test_a_truncated_frame_ends_the_stack(tmp_path):
    machine = Machine(Entry(Kind.REGS, Base.SP, 0, signal=True), LAST)
    machine.words[STACK + 64] = 1
    found, stop = machine.walk(tmp_path)
    assert found == [0]
    assert stop in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY)


def test_orc_is_used_where_it_is_asked_for(tmp_path):
    machine = Machine(CALL, LAST)
    machine.words[STACK] = machine.at(1)
    assert machine.walk(tmp_path, "cfi") == ([0], StopReason.NO_RULE)


class Taken(Exception):
    """A word of the stack is wanted twice."""


def frame(chance: random.Random, machine: Machine, state: tuple[int, int | None, dict[str, int]], number: int):
    """(entry, words to write, state of the caller) of one more frame; the state is stack pointer, frame pointer, and
    registers that an interruption has saved."""
    sp, bp, known = state
    words: dict[int, int] = {}

    def put(place: int, value: int) -> None:
        if place in words or place in machine.words:
            raise Taken
        words[place] = value

    kind = chance.choice([Kind.CALL] * 4 + [Kind.REGS, Kind.PARTIAL])
    bases = [Base.SP, Base.SP, Base.SP_INDIRECT]
    if bp is not None and bp >= sp:
        bases += [Base.BP, Base.BP_INDIRECT]
    bases += [base for base, name in BASES.items() if known.get(name, 0) >= sp + 8]
    base = chance.choice(bases)
    offset = 8 * chance.randrange(1, 12)
    far = sp + 8 * chance.randrange(20, 60)
    if base is Base.SP:
        cfa = sp + offset
    elif base is Base.BP:
        cfa = (bp or 0) + offset
    elif base is Base.SP_INDIRECT:
        cfa = far
        put(sp, cfa - offset)
    elif base is Base.BP_INDIRECT:
        cfa = far
        put((bp or 0) + offset, cfa)
    else:
        cfa = known[BASES[base]]
    upper = cfa + REGS + 8 * chance.randrange(20, 80)
    saved, saved_offset = Base.UNDEFINED, 0
    if kind is not Kind.REGS and chance.random() < 0.5:
        saved_offset = 8 * chance.randrange(-4, 6)
        saved = Base.BP if bp is not None and bp >= sp and chance.random() < 0.5 else Base.PREV_SP
        place = saved_offset + ((bp or 0) if saved is Base.BP else cfa)
        if place < sp:
            raise Taken
        put(place, upper)
        bp = upper
    back = machine.at(number + 1, chance.randrange(kind is Kind.CALL, 16))
    if kind is Kind.CALL:
        put(cfa - 8, back)
        sp, known = cfa, {}
    elif kind is Kind.REGS:
        known = {name: upper + 8 * chance.randrange(40, 80) for name in BASES.values()}
        sp, bp = cfa + REGS + 8 * chance.randrange(0, 8), upper
        saving = Machine()
        saving.pt_regs(cfa, ip=back, sp=sp, bp=bp, **known)
        for place, value in saving.words.items():
            put(place, value)
    else:
        sp = cfa + 40 + 8 * chance.randrange(0, 8)
        saving = Machine()
        saving.iret(cfa, back, sp)
        for place, value in saving.words.items():
            put(place, value)
    return Entry(kind, base, offset, saved, saved_offset, kind is not Kind.CALL), words, (sp, bp, known)


@pytest.mark.parametrize("seed", range(25))
def test_frames_of_any_kind(tmp_path, seed):
    chance = random.Random(seed)
    machine = Machine()
    entries: list[Entry] = []
    state: tuple[int, int | None, dict[str, int]] = (STACK, None, {})
    while len(entries) < 12:
        try:
            entry, words, state = frame(chance, machine, state, len(entries))
        except Taken:
            continue
        entries.append(entry)
        machine.words |= words
    machine.entries = (*entries, LAST)
    assert machine.walk(tmp_path) == (list(range(13)), StopReason.ROOT)
