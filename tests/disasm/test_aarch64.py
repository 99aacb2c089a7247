"""Operands and effects of AArch64 instructions, through the same interface."""

import pytest

from undwarf.disasm import NONE, Action, Flow, Instruction, machine_of

SP, FP, LR = 31, 29, 30


def one(word: int, address: int = 0x1000) -> Instruction:
    machine = machine_of(183)
    assert machine is not None
    made = machine.decode(word.to_bytes(4, "little"), address)
    assert len(made) == 1
    return made[0]


@pytest.mark.parametrize(
    ("word", "text", "operand"),
    [
        (0xF9400400, "ldr x0, [x0, #8]", (0, NONE, 1, 8, 8, "r")),
        (0xB8617800, "ldr w0, [x0, x1, lsl #2]", (0, 1, 4, 0, 4, "r")),
        (0x39401000, "ldrb w0, [x0, #4]", (0, NONE, 1, 4, 1, "r")),
        (0xB9801000, "ldrsw x0, [x0, #16]", (0, NONE, 1, 16, 4, "r")),
        (0x7900081F, "strh wzr, [x0, #4]", (0, NONE, 1, 4, 2, "w")),
        (0xF8008401, "str x1, [x0], #8", (0, NONE, 1, 0, 8, "w")),
        (0xA9400C02, "ldp x2, x3, [x0]", (0, NONE, 1, 0, 16, "r")),
        (0xFD400000, "ldr d0, [x0]", (0, NONE, 1, 0, 8, "r")),
        (0x3DC00000, "ldr q0, [x0]", (0, NONE, 1, 0, 16, "r")),
    ],
)
def test_explicit_operand(word: int, text: str, operand: tuple[object, ...]) -> None:
    (memory,) = one(word).memory
    got = (memory.base, memory.index, memory.scale, memory.displacement, memory.size, memory.access)
    assert got == operand, text


def test_the_base_grows_after_or_before_the_access() -> None:
    after, before = one(0xF8008401).memory[0], one(0xA9BE7BFD).memory[0]
    assert (after.writeback, after.pre) == (8, False)
    assert (before.writeback, before.pre) == (-32, True)


@pytest.mark.parametrize(
    ("word", "action"),
    [
        (0xAA0103E0, (Action.COPY, 0, 1, NONE)),
        (0xD2800020, (Action.CONSTANT, 0, NONE, NONE)),
        (0x91004020, (Action.ADD, 0, 1, NONE)),
        (0x8B020020, (Action.ADD, 0, 1, 2)),
        (0x8B020C20, (Action.ADDRESS, 0, NONE, NONE)),
        (0x90000020, (Action.ADDRESS, 0, NONE, NONE)),
        (0xD37DF020, (Action.SHIFT_LEFT, 0, 1, NONE)),
        (0x9A820020, (Action.SELECT, 0, 1, 2)),
        (0xA9400C02, (Action.LOAD_PAIR, 2, NONE, 3)),
        (0xA9000C02, (Action.STORE_PAIR, NONE, 2, 3)),
        (0xDAC00C20, (Action.OTHER, NONE, NONE, NONE)),
    ],
)
def test_actions(word: int, action: tuple[object, ...]) -> None:
    made = one(word)
    assert (made.action, made.destination, made.left, made.right) == action


@pytest.mark.parametrize(
    ("word", "flow"),
    [
        (0x14000004, Flow.JUMP),
        (0x54000080, Flow.BRANCH),
        (0xB4000080, Flow.BRANCH),
        (0xD61F0020, Flow.INDIRECT_JUMP),
        (0x94000004, Flow.CALL),
        (0xD63F0020, Flow.INDIRECT_CALL),
        (0xD65F03C0, Flow.RETURN),
        (0xD4200020, Flow.STOP),
        (0x00000000, Flow.STOP),
    ],
)
def test_flow(word: int, flow: Flow) -> None:
    assert one(word).flow == flow


def test_a_word_that_is_no_code_does_not_end_the_decoding() -> None:
    machine = machine_of(183)
    assert machine is not None
    code = b"\xff\xff\xff\xff" + (0xD65F03C0).to_bytes(4, "little")
    assert [made.flow for made in machine.decode(code, 0)] == [Flow.STOP, Flow.RETURN]


def test_no_more_instructions_are_decoded_than_asked_for() -> None:
    machine = machine_of(183)
    assert machine is not None
    assert [made.flow for made in machine.decode((0xD65F03C0).to_bytes(4, "little") * 3, 0, 2)] == [Flow.RETURN] * 2
