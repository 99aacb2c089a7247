"""Walks through code without unwind rules that a runtime has in a format of its own, or has made in memory."""

import shutil
import struct
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.support.perfdata import build, writing

from undwarf import StopReason
from undwarf.api import open_recording
from undwarf.elf import ElfFile
from undwarf.images.finder import Finder
from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.perfdata.record_writer import RecordEncoder, record
from undwarf.profile.model import Profile
from undwarf.unwind.jit_entries import BLOCK, PIECES, find_entries
from undwarf.unwind.provenance import Provenance
from undwarf.views.missing_files import missing_files
from undwarf.views.unwind_quality import unwind_quality

BUILD = build.Build()
STACK = 0x7FFF00000000
IMAGE = 0x50000000
PAGE = 0x1000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
CODE = """
    .text
    .skip 16, 0x90
    .globl enter, in_enter, below, in_below
    .globl machine, in_machine, run, in_run, call_made, in_call, main, in_main, _start, in_start
    .type enter, @function
enter:
    .cfi_startproc
    push %rbp
    mov %rsp, %rbp
    .cfi_escape 0x0f, 5, 0x76, 0, 6, 0x40, 0x22
    .cfi_offset rbp, -16
    call *%rax
in_enter:
    leave
    ret
    .cfi_endproc
    .size enter, .-enter
    # As libcrypto's SHA-512: what the stack pointer was is saved in front of where it is.
    .type below, @function
below:
    .cfi_startproc
    .cfi_escape 0x0f, 6, 0x77, 0x80, 0x7f, 6, 0x23, 8
    call *%rax
in_below:
    ret
    .cfi_endproc
    .size below, .-below
    # An interpreter in assembly: one description of its frame for all of its code.
    .type machine, @function
machine:
    .cfi_startproc
    .cfi_def_cfa_offset 48
    .cfi_offset rbx, -16
    push %rbx
    sub $32, %rsp
    jmp *%rax
in_machine:
    nop
    ret
    .cfi_endproc
    .size machine, .-machine
    .type run, @function
run:
    .cfi_startproc
    sub $8, %rsp
    .cfi_def_cfa_offset 16
    call machine
in_run:
    add $8, %rsp
    ret
    .cfi_endproc
    .size run, .-run
    .type call_made, @function
call_made:
    .cfi_startproc
    sub $24, %rsp
    .cfi_def_cfa_offset 32
    call *%rax
in_call:
    add $24, %rsp
    ret
    .cfi_endproc
    .size call_made, .-call_made
    .type main, @function
main:
    .cfi_startproc
    sub $8, %rsp
    .cfi_def_cfa_offset 16
    call *%rax
in_main:
    add $8, %rsp
    ret
    .cfi_endproc
    .size main, .-main
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call main
in_start:
    nop
    .cfi_endproc
    .size _start, .-_start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("runtime")
    (folder / "code.S").write_text(CODE)
    line = ["gcc", "-nostdlib", "-static", "-no-pie", str(folder / "code.S"), "-o", str(folder / "program")]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    # The byte before offset 0x20 ends a call, that before 0x40 none.
    (folder / "lisp.core").write_bytes(bytes(0x1B) + b"\xe8\x10\0\0\0" + bytes(PAGE))
    return folder / "program"


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    """Addresses by name."""
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    return {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}


def profile_of(
    program: Path, words: list[int], bp: int, core: str = "lisp.core", ips: tuple[int, ...] = (IMAGE + 0x80,)
) -> tuple[Profile, list[str]]:
    """The profile of samples of this stack, at these addresses in an image of a runtime's own format or in memory, with
    this frame pointer; and what it misses."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    image = {"start": IMAGE, "length": 16 * PAGE, "pgoff": 0, "where": (0, 0, 0, 0)}
    name = core if core.startswith("//") else str(program.parent / core)
    records = [BUILD.mmap2(attr, str(program).encode(), **mapped), BUILD.mmap2(attr, name.encode(), **image)]
    for n, ip in enumerate(ips):
        regs = [0, 0, 0, 0, 0, 0, bp, STACK, ip]
        records.append(BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=2000 + n, misc=2))
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], records))
    with open_recording(path) as recording:
        profile = recording.profile(by_time=True)
        return profile, [one.what for one in missing_files(recording, profile) if one.name.endswith(core)]


def stack_of(profile: Profile) -> tuple[list[str], StopReason]:
    """(names or offsets from the innermost outwards, why the stack ended)."""
    found = profile.samples[0]
    names = [hex(frame.address.lookup) if frame.name.startswith("[") else frame.name for frame in found.stack]
    return names, found.stop


def test_frame_pointers_lead_through_an_image_that_is_no_elf_file(program: Path, at: dict[str, int]) -> None:
    words = [0, STACK + 32, IMAGE + 0x20, 0, 0, at["in_main"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, STACK + 8)
    assert stack_of(profile) == (["0x80", "0x1f", "main", "_start"], StopReason.ROOT)


def test_image_that_is_no_elf_file_is_not_missing(program: Path, at: dict[str, int]) -> None:
    profile, missing = profile_of(program, [0] * 8, STACK + (1 << 40))
    assert not missing
    assert stack_of(profile) == (["0x80"], StopReason.NO_RULE)
    (gap,) = unwind_quality(profile).gaps
    assert (gap.reason, gap.advice[:23]) == ("no_rule", "a program's own format ")


@pytest.mark.parametrize(("core", "count"), [("lisp.core", 0), ("other.core", 1)])
def test_help_with_missing_files_is_for_those_that_can_be_had(
    program: Path, at: dict[str, int], core: str, count: int
) -> None:
    profile_of(program, [0] * 8, STACK + (1 << 40), core)
    command = [sys.executable, "-m", "undwarf", "info", str(program.parent / "perf.data")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert core in text
    assert text.count("info --missing") == count


def test_image_that_is_not_here_is_missing(program: Path, at: dict[str, int]) -> None:
    profile, missing = profile_of(program, [0] * 8, STACK + (1 << 40), "other.core")
    assert missing == ["binary"]
    assert stack_of(profile)[1] is StopReason.NO_FILE


def test_call_in_an_image_of_its_own_format_proves_the_last_frame(program: Path, at: dict[str, int]) -> None:
    """A frame pointer that does not ascend is not followed but behind a call."""
    for offset, names in ((0x20, ["0x80", "0x1f"]), (0x40, ["0x80"])):
        profile, _missing = profile_of(program, [0, 0x1234, IMAGE + offset, 0], STACK + 8)
        assert stack_of(profile)[0] == names


def test_stack_entered_from_another_one_has_its_root_there(program: Path, at: dict[str, int]) -> None:
    words = [0, STACK + (1 << 30), at["in_enter"], 0]
    profile, _missing = profile_of(program, words, STACK + 8)
    assert stack_of(profile) == (["0x80", "enter"], StopReason.ENTERED_STACK)
    assert unwind_quality(profile).whole == 1


def test_rule_that_reads_in_front_of_the_dump_enters_no_other_stack(program: Path, at: dict[str, int]) -> None:
    words = [0, STACK + (1 << 30), at["in_below"], 0]
    profile, _missing = profile_of(program, words, STACK + 8)
    assert stack_of(profile) == (["0x80", "below"], StopReason.UNREADABLE_MEMORY)


def test_rule_that_reads_close_above_the_dump_wants_a_larger_one(program: Path, at: dict[str, int]) -> None:
    words = [0, STACK + (1 << 20), at["in_enter"], 0]
    profile, _missing = profile_of(program, words, STACK + 8)
    assert stack_of(profile) == (["0x80", "enter"], StopReason.TRUNCATED)
    assert unwind_quality(profile).whole == 0


MADE = "//anon"


def test_code_made_at_run_time_runs_in_the_frame_of_what_jumps_there(program: Path, at: dict[str, int]) -> None:
    words = [0, 0, 0, 0, 0x77, at["in_run"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, 0x99, MADE)
    assert stack_of(profile) == ([hex(IMAGE + 0x80), "run", "_start"], StopReason.ROOT)
    assert profile.samples[0].stack[0].provenance == Provenance.ENTRY


@pytest.mark.parametrize(("own", "names"), [(2, ["run", "_start"]), (1, [])])
def test_made_code_adds_sixteen_bytes_to_that_frame_or_none(
    program: Path, at: dict[str, int], own: int, names: list[str]
) -> None:
    words = [*([0] * (5 + own)), at["in_run"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, 0x99, MADE)
    assert stack_of(profile)[0][1:] == names


def test_a_call_of_an_ordinary_function_enters_no_made_code(program: Path, at: dict[str, int]) -> None:
    profile, _missing = profile_of(program, [0, 0, at["in_start"], 0], 0x99, MADE)
    assert stack_of(profile) == ([hex(IMAGE + 0x80)], StopReason.NO_RULE)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_machine_with_more_on_its_stack_than_stated_has_its_caller(
    program: Path, at: dict[str, int], more: int
) -> None:
    """LuaJIT's exits of traces push all registers, which its one description of the frame leaves out."""
    words = [*([0x1234] * (5 + more)), at["in_run"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, 0x99, ips=(at["in_machine"],))
    assert stack_of(profile) == (["in_machine", "run", "_start"], StopReason.ROOT)


def entered(at: dict[str, int]) -> list[int]:
    """A stack on which an indirect call enters made code, whose frame is of two words."""
    return [0x11, 0x12, at["in_call"], 0, 0, 0, at["in_main"], 0, at["in_start"]]


def test_entry_of_made_code_is_found_where_all_samples_agree(program: Path, at: dict[str, int]) -> None:
    ips = tuple(IMAGE + BLOCK * n for n in range(PIECES))
    profile, _missing = profile_of(program, entered(at), 0x99, MADE, ips)
    assert stack_of(profile) == ([hex(IMAGE), "call_made", "main", "_start"], StopReason.ROOT)
    assert unwind_quality(profile).whole == PIECES


def test_samples_in_few_places_prove_no_entry(program: Path, at: dict[str, int]) -> None:
    ips = tuple(IMAGE + BLOCK * (n % (PIECES - 1)) for n in range(50))
    profile, _missing = profile_of(program, entered(at), 0x99, MADE, ips)
    assert stack_of(profile) == ([hex(IMAGE)], StopReason.NO_RULE)


def test_samples_at_many_distances_prove_no_entry() -> None:
    class Found:
        """Gives entries in place of a walker."""

        def entry_of(self, _window: memoryview, _position: int, sample: int, _reach: int) -> tuple[int, int, int]:
            return 1, 16 * (sample % 4), BLOCK * sample

    class Data:
        """A recording of one window."""

        def window(self, _position: int, _length: int) -> nullcontext[memoryview]:
            return nullcontext(memoryview(b""))

    assert not find_entries(Data(), [(0, 0, 0, 100)], Found(), range(100), 100)
    found = find_entries(Data(), [(0, 0, 0, 400)], Found(), range(0, 400, 4), 100)
    assert found == [(1, 0)]
    # Every second one is looked at, and those are too few.
    assert not find_entries(Data(), [(0, 0, 0, 400)], Found(), range(0, 60, 4), PIECES - 1)  # type: ignore[arg-type]


def test_frame_pointers_that_go_on_above_the_dump_want_a_larger_one(program: Path, at: dict[str, int]) -> None:
    words = [0, STACK + (1 << 16), IMAGE + 0x20, 0]
    profile, _missing = profile_of(program, words, STACK + 8)
    assert stack_of(profile) == (["0x80", "0x1f"], StopReason.TRUNCATED)


@pytest.mark.parametrize(("back", "reason"), [("machine", StopReason.FIBER_ROOT), ("in_run", StopReason.ROOT)])
def test_last_frame_pointer_beside_no_return_address_is_a_root(
    program: Path, at: dict[str, int], back: str, reason: StopReason
) -> None:
    """Erlang's processes begin with a frame pointer of zero and the address of code that ends them."""
    words = [0, STACK + 32, IMAGE + 0x20, 0, 0, at[back], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, STACK + 8)
    names, stop = stack_of(profile)
    assert (names[:2], stop) == (["0x80", "0x1f"], reason)


@pytest.mark.parametrize(
    ("back", "followed"),
    [
        ([IMAGE + 0x90] * 3, True),
        ([IMAGE + 0x90] * 4, False),
        ([IMAGE + PAGE * 32] * 4, True),
        ([IMAGE - 0x90] * 4, True),
    ],
)
def test_frame_pointer_above_frames_of_others_is_not_followed(
    program: Path, at: dict[str, int], back: list[int], followed: bool
) -> None:
    """Mono's code without frame pointers leaves that of an outer frame in the register."""
    words = [word for one in back for word in (0x1234, one)]
    words += [STACK + 16 * len(back) + 16, IMAGE + 0x40, STACK + (1 << 20), at["in_main"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, STACK + 16 * len(back), MADE)
    assert (len(stack_of(profile)[0]) > 1) == followed


@pytest.mark.parametrize("pairs", [4, 8])
def test_frames_with_saved_pointers_are_left_over_ones(program: Path, at: dict[str, int], pairs: int) -> None:
    words = [word for n in range(pairs) for word in (STACK + 16 * n + 32, IMAGE + 0x90)]
    words += [STACK + 16 * pairs + 16, IMAGE + 0x40, STACK + (1 << 20), at["in_main"], 0, at["in_start"]]
    profile, _missing = profile_of(program, words, STACK + 16 * pairs, MADE)
    assert stack_of(profile)[0][1:3] == [hex(IMAGE + 0x3F), "main"]


def test_entries_of_made_code_are_learnt_while_recording(program: Path, at: dict[str, int]) -> None:
    words = entered(at)
    event = writing.event(
        sample_type=writing.FIELDS | build.REGS_USER | build.STACK_USER,
        sample_regs_user=0x1C0,
        sample_stack_user=8 * len(words),
        ids=(1,),
        flags=build.SAMPLE_ID_ALL,
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    encoder = RecordEncoder(event)
    maps = encoder.mmap2(str(program).encode(), 10, 10, code.address, code.memory_size, code.offset, time=1)
    maps += encoder.mmap2(b"//anon", 10, 10, IMAGE, 16 * PAGE, 0, time=1)

    def sample(ip: int) -> bytes:
        body = struct.pack("=QQIIQIIQQ", 1, ip, 10, 10, 5, 0, 0, 1, 0) + struct.pack("=4Q", 2, 0x99, STACK, ip)
        size = struct.pack("=Q", 8 * len(words))
        return record(9, body + size + struct.pack(f"={len(words)}Q", *words) + size, 2)

    unwinder = LiveUnwinder([event], Finder(), live=False)
    stops = []
    for places in (range(PIECES - 1), range(PIECES - 1, PIECES + 1)):
        done = unwinder.unwind([memoryview(maps + b"".join(sample(IMAGE + BLOCK * n) for n in places))])
        stops.append(set(done.stop))
        assert 0xFFFFFFFF not in done.stack.tolist()  # without a frame
        maps = b""
    unwinder.close()
    assert stops == [{StopReason.NO_RULE}, {StopReason.ROOT}]
