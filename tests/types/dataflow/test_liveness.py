"""Registers that are live after calls, against a search of all paths; only callees that matter are analysed."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.types.fakes import Fake, assemble

from undwarf.column import zeros
from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.template_layout import TARGETED
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import OBJECT
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.liveness import Liveness
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.type_source import Place, PlaceKind, Prototype

RAX, RDX, RCX, RBX, RSI, RDI = range(6)
LOST = [one for one in MACHINE.caller_saved if one in MACHINE.general]
TAKEN, RETURNED = RSI, RAX


def code_of(seed: int) -> bytes:
    """Moves between registers, calls, jumps and branches forth and back, as they come."""
    data = hashlib.shake_256(b"living" + bytes((seed,))).digest(300)
    kinds = (
        "4889ce",
        "e800000000",
        "74{}",
        "eb{}",
        "4889f1",
        "31d2",
        "488b01",
        "4889d7",
        "ffd0",
        "4801f9",
        "c3",
        "89ca",
    )
    return b"".join(
        bytes.fromhex(kinds[kind % len(kinds)].format(f"{distance % 40 - 20 & 0xFF:02x}"))
        for kind, distance in zip(data[::2], data[1::2], strict=True)
    )


def is_read(flow: FunctionFlow, k: int, register: int) -> bool:
    """Whether a register is read after an instruction on any path before it is written."""
    listing: Listing = flow.instructions
    seen: set[int] = set()
    left = behind(flow, k)
    while left:
        at = left.pop()
        if at in seen:
            continue
        seen.add(at)
        made = listing[at]
        if made.flow == Flow.CALL:
            if register == TAKEN:
                return True
            if register == RETURNED:
                continue
        else:
            if register in made.reads:
                return True
            if register in made.writes or made.flow == Flow.INDIRECT_CALL:
                continue
        left += behind(flow, at)
    return False


def behind(flow: FunctionFlow, k: int) -> list[int]:
    blocks = flow.blocks
    number = blocks.of(k)
    return [k + 1] if k + 1 < blocks.end(number) else [blocks.first(one) for one in blocks.successors(number)]


@pytest.mark.parametrize("seed", range(12))
def test_a_register_is_live_if_some_path_reads_it_first(seed: int) -> None:
    listing = MACHINE.listing(code_of(seed), 0x1000)
    flow = FunctionFlow(listing, MACHINE)
    calls = SimpleNamespace(
        lost_bits=(sum(1 << one for one in LOST), 0),
        general_bits=(1 << 16) - 1,
        taken=lambda _target: (1 << TAKEN, 1 << RETURNED),
    )
    oracle = SimpleNamespace(
        calls=calls,
        has_variables=True,
        in_registers=zeros("q", 0),
    )
    found = Liveness(listing, flow.blocks.column, len(flow.blocks), False, oracle, {}).behind
    calls = [k for k, kind in enumerate(listing.flows) if kind == Flow.CALL | TARGETED]
    assert len(calls) > 5
    assert not any(found[k] for k in range(len(listing)) if k not in calls)
    for k in calls:
        used = {one for one in LOST if one != RETURNED and is_read(flow, k, one)}
        assert {one for one in LOST if found[k] >> one & 1} == used


def followed(text: str, where: Path, *, named: bool = True) -> tuple[Tracker, list[int]]:
    """The data flow of a function with a variable in rdi at its start; the callees that were analysed, which preserve
    rcx only."""
    fake = Fake()
    fake.variables += [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 3)] if named else []
    code = assemble(text, where)
    asked: list[int] = []

    def changed_by(address: int) -> frozenset[int]:
        asked.append(address)
        return MACHINE.caller_saved - {RCX}

    program = ProgramContext(fake, MACHINE, changed_by=changed_by)
    return Tracker(program, FunctionFlow(MACHINE.listing(code, 0), MACHINE), 0, len(code)), asked


def test_a_register_that_a_callee_preserves_is_still_known(tmp_path: Path) -> None:
    tracker, asked = followed("mov %rdi,%rcx; call 1f; mov 8(%rcx),%rax; ret; 1: ret", tmp_path)
    tracker.before(2)
    where = tracker.address_of(2, 0)
    assert where is not None and where[0] == OBJECT
    assert len(asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "mov %rdi,%rcx; call 1f; ret; 1: ret",
        "mov %rdi,%rcx; call 1f; mov %rbx,%rcx; mov 8(%rcx),%rax; ret; 1: ret",
        "mov %rdi,%rbx; call 1f; mov 8(%rbx),%rax; ret; 1: ret",
        "mov %rdi,%rcx; call 1f; call *%rbx; mov 8(%rcx),%rax; ret; 1: ret",
    ],
)
def test_a_callee_is_not_analysed_if_nothing_is_live_after_it(text: str, tmp_path: Path) -> None:
    assert followed(text, tmp_path)[1] == []
    assert len(followed(text.replace("; call 1f", "; call 1f; mov 16(%rcx),%rsi", 1), tmp_path)[1]) == 1


def test_without_variables_all_callees_are_analysed(tmp_path: Path) -> None:
    assert len(followed("mov %rdi,%rcx; call 1f; ret; 1: ret", tmp_path, named=False)[1]) == 1


def test_a_variable_in_a_register_makes_it_live(tmp_path: Path) -> None:
    fake = Fake()
    to_node = fake.graph.pointer_to(fake.node)
    code = assemble("mov %rdi,%rcx; call 1f; nop; ret; 1: ret", tmp_path)
    fake.variables.append(Place("n", to_node, PlaceKind.REGISTER, RCX, 0, 3, len(code)))
    asked: list[int] = []
    program = ProgramContext(fake, MACHINE, changed_by=lambda address: asked.append(address))
    Tracker(program, FunctionFlow(MACHINE.listing(code, 0), MACHINE), 0, len(code))
    # Binaries remember it.
    assert len(set(asked)) == 1


@pytest.mark.parametrize(("returns", "looked"), [(True, 0), (False, 1)])
def test_a_variable_in_the_return_register_makes_it_not_live(tmp_path: Path, returns: bool, looked: int) -> None:
    fake = Fake()
    code = assemble("call 1f; nop; ret; 1: ret", tmp_path)
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 5, len(code)))
    asked: list[int] = []
    prototype = Prototype("made", fake.long if returns else VOID, ())
    program = ProgramContext(
        fake, MACHINE, changed_by=lambda address: asked.append(address), callee=lambda _address: prototype
    )
    Tracker(program, FunctionFlow(MACHINE.listing(code, 0), MACHINE), 0, len(code))
    assert len(asked) == looked
