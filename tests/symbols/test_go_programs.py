"""Programs of Go, which tell of their functions even when they are stripped."""

import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import fuzz_go
import mutate
import pytest
from tests.support.symbols.go_builder import GO_1_2, GO_1_16, GO_1_18, GO_1_20, TEXT, VERSIONS, Call, Function, Program

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.go_functions import GoFunctions
from undwarf.limits import Limits
from undwarf.live.stack.snapshot import X86_64, Snapshot, Thread
from undwarf.symbols.address_lookup import Addresses
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.tables.model import Rule, UnwindTable
from undwarf.tables.stubs import signals_x86_64
from undwarf.unwind.stop_reason import StopReason

MAIN = Function(
    "main.main",
    lines=[(10, 16), (20, 16), (12, 32)],
    files=[(0, 16), (1, 16), (0, 32)],
    calls=[Call("main.inner", 0x20), Call("main.(*T).outer", 0x30)],
    inlined=[(-1, 16), (0, 16), (1, 8), (-1, 24)],
)
OTHERS = [Function("runtime.goexit", top=True), MAIN, Function("main.leaf", depths=[(0, 64)])]


def program(version: int = GO_1_20, **more: object) -> ElfFile:
    return ElfFile.from_bytes(Program(OTHERS, version, **more).build(), "p")


def functions(version: int = GO_1_20, **more: object) -> GoFunctions:
    found = GoFunctions.of(program(version, **more))
    assert found is not None
    return found


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("word", [4, 8])
@pytest.mark.parametrize("version", VERSIONS)
def test_each_format(version: int, word: int, big: bool) -> None:
    found = functions(version, word=word, big=big)
    assert [(start - TEXT, end - TEXT) for start, end in zip(found.starts, found.ends, strict=True)] == [
        (0, 64),
        (64, 128),
        (128, 192),
    ]
    assert [found.name(number) for number in range(3)] == ["runtime.goexit", "main.main", "main.leaf"]
    assert [(at - TEXT, depth) for at, depth in found.depths(1)] == [(64, 0), (68, 24), (124, 0)]
    assert [found.is_outermost(number) for number in range(3)] == [True, False, False]
    places = [TEXT + 64, TEXT + 64 + 16, TEXT + 64 + 63]
    assert found.lines(1, places) == [("/src/main.go", 10), ("/src/other.go", 20), ("/src/main.go", 12)]


@pytest.mark.parametrize("version", [GO_1_18, GO_1_20])
def test_inlined_functions_are_followed_to_where_they_were_called(version: int) -> None:
    found = functions(version)
    start = TEXT + 64
    assert found.inlined(1, start + 18) == [("main.inner", start + 0x20), ("main.(*T).outer", start + 0x30)]
    assert found.inlined(1, start + 0x21) == [("main.(*T).outer", start + 0x30)]
    assert found.inlined(1, start) == found.inlined(2, TEXT + 128) == []


def test_calls_that_lead_in_a_circle_end() -> None:
    circle = Function("main.main", calls=[Call("a", 8), Call("b", 0)], inlined=[(0, 8), (1, 56)])
    found = GoFunctions.of(ElfFile.from_bytes(Program([circle]).build()))
    assert found is not None
    assert len(found.inlined(0, TEXT)) == 100


def test_instructions_of_four_bytes() -> None:
    assert [at - TEXT for at, _depth in functions(quantum=4, machine=183).depths(1)] == [64, 80]


def test_where_the_code_starts_is_told_by_the_running_program() -> None:
    # Go 1.26 and later state it there only.
    assert functions(states_text=False).starts[0] == TEXT


@pytest.mark.parametrize("marked", [True, False])
def test_the_table_is_found_without_its_section(marked: bool) -> None:
    made = program(section=".go.buildinfo" if marked else ".data")
    found = GoFunctions.of(made)
    assert (found is not None and len(found) == 3) is marked
    bare = bytearray(made.data)
    bare[40:48] = bytes(8)  # e_shoff
    bare[58:64] = bytes(6)
    found = GoFunctions.of(ElfFile.from_bytes(bytes(bare)))
    assert found is not None
    assert found.name(1) == "main.main"


def test_rules() -> None:
    table = UnwindTable.from_elf(program(), "gopclntab")
    rules = [table.rule_at(TEXT + at) for at in (64, 68, 128)]
    assert [(rule.cfa, rule.registers, rule.source) for rule in rules if rule] == [
        ("rsp+8", {"ra": "cfa-8"}, "gopclntab"),
        ("rsp+32", {"ra": "cfa-8"}, "gopclntab"),
        ("rsp+8", {"ra": "cfa-8"}, "gopclntab"),
    ]
    outermost = table.rule_at(TEXT)
    assert outermost is not None
    assert outermost.outermost


def rule_of(name: str, code: bytes, at: int, **more: object) -> Rule:
    made = Program([Function("main.main"), Function(name, code=code, **more)])
    found = UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab").rule_at(TEXT + 64 + at)
    assert found is not None
    return found


def test_a_call_to_c_leads_back_to_the_goroutine() -> None:
    # call; mov 0x30(%rsp),%rdi; mov 8(%rdi),%rsi; sub 0x28(%rsp),%rsi; mov %rdi,%fs:-8; mov %rsi,%rsp; pop %rbp; ret
    code = bytes.fromhex("e800000000 488b7c2430 488b7708 482b742428 6448893c25f8ffffff 4889f4 5d c3")
    depths = [(0, 31), (8, 1), (0, 32)]
    for at, cfa in ((4, "expr"), (28, "expr"), (31, "rsp+16"), (32, "rsp+8")):
        rule = rule_of("runtime.asmcgocall", code, at, depths=depths)
        assert (rule.cfa, rule.registers) == (cfa, {"ra": "cfa-8"}), at


def test_the_way_back_to_the_goroutine_is_told_by_its_stacks_end() -> None:
    code = bytes.fromhex("488b7c2430 488b7708 482b742428 4889f4 c3").rjust(20, b"\x90")
    elf = ElfFile.from_bytes(Program([Function("runtime.asmcgocall", code=code, depths=[(0, 64)])]).build())
    table = UnwindTable.from_elf(elf, "gopclntab")
    assert table.rule_at(TEXT + 3) is not None
    # *(*(rsp+0x30)+8) - *(rsp+0x28) + 8
    assert bytes(table.rules.expression_bytes[:11]) == bytes.fromhex("7730 06 2308 06 7728 06 1c 23")
    assert table.rules.expression_bytes[11] == 8


def test_a_call_to_c_on_the_threads_own_stack() -> None:
    code = bytes.fromhex("ffd0 488b742428 4889f4 c3")
    assert rule_of("runtime.asmcgocall", code, 1, depths=[(0, 64)]).cfa == "*(rsp+40)+8"


RBP = 4
"""A word of a thread's registers."""


def stack_in_c(path: Path, memory: dict[int, bytes]) -> tuple[list[str], StopReason]:
    """A thread that has just returned from C to a goroutine's code, and has that memory."""
    back = bytes.fromhex("488b7c2430 488b7708 482b742428 4889f4 c3")
    functions = [
        Function("runtime.goexit", top=True),
        Function("main.main", depths=[(0, 64)]),
        Function("runtime.asmcgocall", code=back, depths=[(0, 64)]),
    ]
    return thread_of(path, functions, TEXT + 128, bytes(0x28) + struct.pack("<QQ", 64, 0xC000) + bytes(0x100), memory)


def thread_of(
    path: Path, functions: list[Function], address: int, stack: bytes, memory: dict[int, bytes], frame: int = 0
) -> tuple[list[str], StopReason]:
    """The functions of a thread at that address of a program, with that frame pointer, and why its stack ends."""
    path.write_bytes(Program(functions).build())
    elf = ElfFile.open(path)
    words = [0] * X86_64.words
    words[X86_64.sp], words[X86_64.ip] = 0x7F0000, address
    words[RBP] = frame

    def read(start: int, end: int) -> bytes:
        return next((data[start - at : end - at] for at, data in memory.items() if at <= start < at + len(data)), b"")

    code = elf.segments[0]
    snapshot = Snapshot(
        1,
        b"p",
        X86_64,
        [Thread(1, b"p", tuple(words), stack)],
        lambda encoder: encoder.mmap2(os.fsencode(path), 1, 1, code.address, 4096, code.offset),
        read,
    )
    profile, _defects = snapshot.profile(cache=False)
    (sample,) = profile.samples
    return [frame.name for frame in sample.stack], StopReason(sample.stop)


def test_a_stack_goes_on_from_c_to_the_goroutines(tmp_path: Path) -> None:
    own = struct.pack("<QQ", TEXT + 64 + 10, TEXT + 1).ljust(64, b"\0")
    found = stack_in_c(tmp_path / "p", {0xC000: struct.pack("<QQ", 0xD000, 0xE000), 0xE000 - 64: own})
    assert found == (["runtime.asmcgocall", "main.main", "runtime.goexit"], StopReason.ROOT)


def test_a_goroutines_stack_that_was_not_recorded_is_told(tmp_path: Path) -> None:
    assert stack_in_c(tmp_path / "p", {}) == (["runtime.asmcgocall"], StopReason.OTHER_STACK)


def test_a_goroutine_whose_stack_alone_is_missing_is_told(tmp_path: Path) -> None:
    memory = {0xC000: struct.pack("<QQ", 0xD000, 0xE000)}
    assert stack_in_c(tmp_path / "p", memory) == (["runtime.asmcgocall"], StopReason.OTHER_STACK)


SYSTEM = bytes.fromhex(  # mov 0x38(%rdx),%rsp; call *%rdi; mov %fs:-8,%rax; mov 0x30(%rax),%rbx; mov 0xb8(%rbx),%rax;
    "488b6238 ffd7 64488b0425f8ffffff 488b5830 488b83b8000000"  # mov %rax,%fs:-8; mov 0x38(%rax),%rsp; ret
    "6448890425f8ffffff 488b6038 c3"
)


def test_functions_called_on_the_threads_stack_lead_back() -> None:
    elf = ElfFile.from_bytes(
        Program(
            [
                Function("runtime.systemstack", code=SYSTEM, depths=[(0, 64)]),
                Function("runtime.morestack", code=bytes.fromhex("488b6338 e800000000"), depths=[(0, 64)]),
                Function("runtime.mcall", code=bytes.fromhex("498b6638 41ffd4"), depths=[(0, 64)]),
                Function("runtime.clone", code=bytes.fromhex("0f05 4889f4 41ffd4"), depths=[(0, 64)]),
            ]
        ).build()
    )
    table = UnwindTable.from_elf(elf, "gopclntab")
    found = []
    for at in (0, 5, len(SYSTEM) - 1, 64 + 2, 64 + 8, 128 + 2, 128 + 6, 192 + 4, 192 + 6):
        rule = table.rule_at(TEXT + at)
        assert rule is not None
        found.append("none" if rule.outermost else rule.cfa)
    assert found == ["rsp+8", "expr", "rsp+8", "rsp+8", "expr", "rsp+8", "none", "rsp+8", "none"]


def test_who_preempts_a_goroutine_is_called_by_nobody(tmp_path: Path) -> None:
    # nop; call gopreempt_m; nop; call what is no such function
    new_stack = bytes.fromhex("90 e83a000000 90 e800000000") + b"\x90" * 52
    more = bytes.fromhex("488b6338 e8b8ffffff 90")
    functions = [
        Function("runtime.newstack", code=new_stack, depths=[(0, 64)]),
        Function("runtime.gopreempt_m", depths=[(0, 64)]),
        Function("runtime.morestack", code=more, depths=[(0, 64)]),
        Function("runtime.systemstack", code=SYSTEM, depths=[(0, 64)]),
    ]
    found = []
    for back in (6, 12):
        stack = struct.pack("<QQ", TEXT + back, TEXT + 128 + 9) + bytes(0x100)
        found.append(thread_of(tmp_path / f"p{back}", functions, TEXT + 64, stack, {}))
    assert found == [
        (["runtime.gopreempt_m", "runtime.newstack", "runtime.morestack"], StopReason.ROOT),
        (["runtime.gopreempt_m", "runtime.newstack", "runtime.morestack"], StopReason.OTHER_STACK),
    ]


def test_a_missing_register_does_not_hide_that_another_stack_follows(tmp_path: Path) -> None:
    functions = [
        Function("nobody", depths=[(4, 64)]),
        Function("runtime.systemstack", code=SYSTEM, depths=[(0, 64)]),
    ]
    stack = struct.pack("<QQ", 0x7F0100, TEXT + 64 + 6) + bytes(0x200)
    found = thread_of(tmp_path / "p", functions, TEXT, stack, {}, frame=0x7F0000)
    assert found == (["nobody", "runtime.systemstack"], StopReason.OTHER_STACK)


WORKER = "runtime.gcBgMarkWorker"


@pytest.mark.parametrize(
    ("starter", "calls", "stack", "stop"),
    [
        ("", 1, ["runtime.goexit"], StopReason.ROOT),
        ("runtime.gcBgMarkStartWorkers.gowrap1", 1, ["runtime.gcBgMarkStartWorkers.gowrap1", "runtime.goexit"],
         StopReason.ROOT),
        ("", 2, [], StopReason.OTHER_STACK),
    ],
)  # fmt: skip  # a table
def test_the_collectors_worker_is_known_by_what_it_calls(
    tmp_path: Path, starter: str, calls: int, stack: list[str], stop: StopReason
) -> None:
    # call systemstack, once or twice; call the worker
    code = bytes.fromhex("e87b000000" + "e876000000" * (calls - 1)) + b"\x90" * 50
    functions = [
        Function("runtime.goexit", top=True),
        Function(WORKER, code=code, depths=[(0, 64)]),
        Function(f"{WORKER}.func2", depths=[(0, 64)]),
        Function("runtime.systemstack", code=SYSTEM, depths=[(0, 64)]),
    ]
    if starter:
        functions.append(Function(starter, code=bytes.fromhex("e83bffffff 90"), depths=[(0, 64)]))
    found = thread_of(tmp_path / "p", functions, TEXT + 128, struct.pack("<Q", TEXT + 192 + 6) + bytes(0x100), {})
    assert found == ([f"{WORKER}.func2", "runtime.systemstack", *([WORKER] if calls == 1 else []), *stack], stop)


def test_what_else_runs_on_the_threads_stack_has_no_known_caller(tmp_path: Path) -> None:
    functions = [
        Function("runtime.goexit", top=True),
        Function(WORKER, code=bytes.fromhex("e87b000000") + b"\x90" * 50, depths=[(0, 64)]),
        Function("runtime.newproc.func1", depths=[(0, 64)]),
        Function("runtime.systemstack", code=SYSTEM, depths=[(0, 64)]),
    ]
    found = thread_of(tmp_path / "p", functions, TEXT + 128, struct.pack("<Q", TEXT + 192 + 6) + bytes(0x100), {})
    assert found == (["runtime.newproc.func1", "runtime.systemstack"], StopReason.OTHER_STACK)


SYSTEM_OF_PIE = bytes.fromhex(  # as above; mov $-8,%rcx; mov %fs:(%rcx),%rax; ...; mov %rax,%fs:(%rcx)
    "488b6238 ffd7 48c7c1f8ffffff 64488b01 488b5830 488b83b8000000 64488901 488b6038 c3"
)


def system_stack(code: bytes) -> tuple[UnwindTable, bytes]:
    """The table of a program with that ``runtime.systemstack``, and the bytes of its rules' expressions."""
    made = Program([Function("runtime.systemstack", code=code, depths=[(0, 64)])])
    table = UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab")
    assert table.rule_at(TEXT + 5) is not None
    return table, bytes(table.rules.expression_bytes).rstrip(b"\0")


def test_position_independent_code_leads_back_to_the_goroutine() -> None:
    assert system_stack(SYSTEM_OF_PIE)[1] == system_stack(SYSTEM)[1] != b""


@pytest.mark.parametrize("name", ["runtime.systemstack", "runtime.morestack"])
def test_a_change_of_stacks_nobody_can_read_has_no_false_caller(name: str) -> None:
    code = bytes.fromhex("488b6238 ffd7 c3")
    functions = [Function("runtime.systemstack", code=code, depths=[(0, 64)])] * (name == "runtime.systemstack")
    elf = ElfFile.from_bytes(Program([*functions, Function(name, code=code, depths=[(0, 64)])]).build())
    table = UnwindTable.from_elf(elf, "gopclntab")
    rule = table.rule_at(TEXT + 64 * len(functions) + 5)
    assert rule is not None
    # *0, which no process has.
    assert rule.cfa == "expr"
    assert bytes.fromhex("30 06") in bytes(table.rules.expression_bytes)


@pytest.mark.parametrize(
    ("name", "keep", "back", "register"),
    [
        ("runtime.nanotime1", "4989e4", "4c89e4", 12),
        ("racecall", "4989e5", "4c89ec", 13),
        ("runtime.sigfwd", "4889e3", "4889dc", 3),
    ],
)
def test_a_call_to_c_with_the_stack_pointer_in_a_register(name: str, keep: str, back: str, register: int) -> None:
    # push %rbp; mov %rsp,%r12; mov 0x38(%rdx),%rsp; and $-16,%rsp; call *%rax; mov %r12,%rsp; pop %rbp; ret
    code = bytes.fromhex(f"55 {keep} 488b6238 4883e4f0 ffd0 {back} 5d c3")
    depths = [(0, 1), (8, len(code) - 2), (0, 65 - len(code))]
    made = Program([Function(name, code=code, depths=depths)])
    table = UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab")
    rules = [table.rule_at(TEXT + at) for at in (1, 4, 13, 14, 17)]
    assert [rule and rule.cfa for rule in rules] == ["rsp+16", "expr", "expr", "expr", "rsp+16"]
    assert bytes(table.rules.expression_bytes[:3]) == bytes((0x70 + register, 16, 0))


def test_before_a_call_to_c_the_stack_pointer_is_in_rdx() -> None:
    # mov %rsp,%rdx; call; mov 0x38(%rsi),%rsp; sub $16,%rsp; and $-16,%rsp; call; as above
    code = bytes.fromhex("4889e2 e800000000 488b6638 4883ec10 4883e4f0 e800000000 488b3424 4889f4 c3")
    made = Program([Function("runtime.asmcgocall", code=code, depths=[(0, 64)])])
    table = UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab")
    rules = [table.rule_at(TEXT + at) for at in (8, 12, 20, 24, 25)]
    assert [rule and rule.cfa for rule in rules] == ["rsp+8", "expr", "expr", "*(rsp+0)+8", "*(rsp+0)+8"]
    assert bytes(table.rules.expression_bytes[:3]) == bytes.fromhex("71 08 00")


def test_nobody_called_what_goes_on_on_another_stack_for_good() -> None:
    assert rule_of("runtime.switchToCrashStack0", bytes.fromhex("4889dc ffd0"), 4, depths=[(0, 64)]).outermost


def test_what_resumes_a_goroutine_is_no_root() -> None:
    # mov (%rbx),%rsp; mov 8(%rbx),%rbx; jmp *%rbx
    made = Program([Function("gogo", code=bytes.fromhex("488b23 488b5b08 ffe3"), depths=[(0, 64)])])
    table = UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab")
    before, after = table.rule_at(TEXT + 2), table.rule_at(TEXT + 3)
    assert before is not None and after is not None
    assert (before.cfa, after.cfa, after.outermost) == ("rsp+8", "expr", False)


def test_what_a_callback_from_c_returns_to_is_exact() -> None:
    assert rule_of("runtime.cgocallback", b"", 4).signal
    assert not rule_of("runtime.cgocallbackg", b"", 4).signal


@pytest.mark.parametrize("at", [-1, 0, 7])
def test_signal_handlers_return_to_what_was_interrupted(at: int) -> None:
    rule = rule_of("runtime.sigreturn__sigaction", signals_x86_64.RETURN, at, depths=[(0, 64)])
    assert (rule.signal, rule.cfa) == (True, "*(rsp+160)")
    assert (rule.registers["ra"], rule.registers["rbp"], rule.registers["r15"]) == (
        "*(rsp+168)",
        "*(rsp+120)",
        "*(rsp+96)",
    )


def test_rules_of_aarch64() -> None:
    table = UnwindTable.from_elf(program(machine=183, quantum=4), "gopclntab")
    entry, later = table.rule_at(TEXT + 64), table.rule_at(TEXT + 64 + 16)
    assert entry is not None
    assert later is not None
    assert (entry.cfa, entry.registers) == ("sp+0", {})
    assert (later.cfa, later.registers) == ("sp+24", {"ra": "cfa-24"})


@pytest.mark.parametrize("depth", [4, -128])
def test_depths_that_no_stack_has_give_no_rule(depth: int) -> None:
    made = Program([Function("main.main", depths=[(depth, 64)])])
    assert UnwindTable.from_elf(ElfFile.from_bytes(made.build()), "gopclntab").rule_at(TEXT) is None


def test_walking_asks_the_table_by_itself() -> None:
    table = UnwindTable.from_elf(program(), "auto", quick=True)
    rule = table.rule_at(TEXT + 70)
    assert rule is not None
    assert rule.source == "gopclntab"


def test_names_and_lines_of_a_stripped_program(tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_bytes(program().data)
    addresses = zeros("Q", 2)
    addresses[0], addresses[1] = TEXT + 64 + 16, TEXT + 130
    found = Addresses(str(path)).locate(addresses)
    assert [found.symbols[number] for number in found.symbol_of] == ["main.main", "main.leaf"]
    assert found.chains.chain(0) == [
        ("main.inner", "/src/other.go", 20, 0),
        ("main.(*T).outer", "/src/main.go", 12, 0),
        ("main.main", "/src/main.go", 12, 0),
    ]
    assert found.chains.chain(1) == [("main.leaf", "/src/main.go", 10, 0)]


def test_more_functions_than_the_limit_are_refused() -> None:
    elf = ElfFile.from_bytes(Program(OTHERS).build(), "p", limits=Limits(symbols=2))
    assert GoFunctions.of(elf) is None
    assert list(elf.defects)


def test_functions_out_of_order_are_left_out_and_counted() -> None:
    made = Program([Function("main.a"), Function("main.b", size=0), Function("main.c")])
    elf = ElfFile.from_bytes(made.build(), "p")
    found = GoFunctions.of(elf)
    assert found is not None
    assert [found.name(number) for number in range(len(found))] == ["main.a", "main.c"]
    assert list(elf.defects)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_programs(seed: int) -> None:
    chance = random.Random(seed)
    start = fuzz_go.seeds()
    for _ in range(10):
        fuzz_go.one_input(mutate.mutated(chance.choice(start), chance))


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go")
def test_as_go_itself_reads_it() -> None:
    folder = subprocess.run(["go", "env", "GOTOOLDIR"], capture_output=True, text=True, check=True).stdout.strip()
    path = Path(folder, "pack")
    elf = ElfFile.open(path) if path.exists() else None
    found = GoFunctions.of(elf) if elf is not None else None
    if elf is None or found is None:
        pytest.skip("no program of Go that has a table")
    addresses = [start + (end - start) // 2 for start, end in zip(found.starts, found.ends, strict=True)][::7]
    done = subprocess.run(
        ["go", "tool", "addr2line", str(path)],
        input="".join(f"{address:#x}\n" for address in addresses),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = done.stdout.split("\n")
    for number, address in enumerate(addresses):
        function = found.at(address)
        assert function is not None
        ((file, line),) = found.lines(function, [address])
        name, place = theirs[2 * number : 2 * number + 2]
        assert found.name(function) == name
        assert f"{file}:{line}" == place or (not file and place.endswith((":0", ":-1")))


@pytest.mark.parametrize("version", [GO_1_2, GO_1_16])
def test_symbols_of_older_programs(version: int) -> None:
    table = symbols_of_elf(program(version))
    assert table is not None
    assert len(table) == 3
