"""Fields of `script` beside the plain ones: expected texts are perf 7's on the same recordings, byte for byte."""

import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner
from tests.support.perfdata.build import (
    ADDR,
    BRANCH_STACK,
    CALLCHAIN,
    CGROUP,
    PLAIN,
    RAW,
    REGS_INTR,
    REGS_USER,
    Attr,
    Build,
)
from tests.support.perfdata.tracepoints import format_file, raw

from undwarf.cli.script import command
from undwarf.limits import DEFAULT
from undwarf.outputs.script import fields_of_event, parse_fields
from undwarf.outputs.script_fields import SampleFields, Sources
from undwarf.perfdata import feature_writer

BUILD = Build()
USER = 2**64 - 512
SECTION = feature_writer.tracing({"sys": [format_file('"a=%d %s", REC->a, __get_str(name)')]})


def script(path: Path, attr: Attr, records: list[bytes], fields: str, features: Any = None, *options: str) -> str:
    """What is printed of a recording of one event in a process whose program is at 0x400000."""
    file = path / "perf.data"
    mapped = BUILD.mmap2(attr, b"/bin/prog", time=1)
    file.write_bytes(BUILD.file([attr], [BUILD.comm(attr, b"prog", tid=11, time=1), mapped, *records], features))
    arguments = [*(("-F", fields) if fields else ()), *options, str(file)]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def traced(data: bytes) -> bytes:
    # The kernel fills raw data so that records are multiples of 8 bytes.
    return data + bytes(-(len(data) + 4) % 8)


TRACEPOINT = Attr(type=2, config=77, sample_type=PLAIN | RAW)


def test_tracepoints_print_their_text_by_default(tmp_path: Path) -> None:
    sample = BUILD.sample(TRACEPOINT, time=2000, raw=traced(raw(a=5)))
    text = script(tmp_path, TRACEPOINT, [sample], "", {1: SECTION})
    assert text == "            prog      11 [000]     0.000002: unknown tracepoint: a=5 file\n"


def test_a_damaged_tracepoint_is_unknown_and_counted(tmp_path: Path) -> None:
    samples = [
        BUILD.sample(TRACEPOINT, time=2000, raw=traced(raw()[:20])),
        BUILD.sample(TRACEPOINT, time=3000, raw=b""),
    ]
    text = script(tmp_path, TRACEPOINT, samples, "trace", {1: SECTION})
    assert text == "[unknown]\n[unknown]\n"


def test_a_tracepoint_without_a_format_is_unknown(tmp_path: Path) -> None:
    sample = BUILD.sample(TRACEPOINT, time=2000, raw=traced(raw()))
    assert script(tmp_path, TRACEPOINT, [sample], "event,trace") == "unknown tracepoint: [unknown]\n"


def test_text_of_a_tracepoint_cannot_drive_the_terminal(tmp_path: Path) -> None:
    sample = BUILD.sample(TRACEPOINT, time=2000, raw=traced(raw(a=1, name=b"\x1b[2J")))
    assert script(tmp_path, TRACEPOINT, [sample], "trace", {1: SECTION}) == "a=1 \\x1b[2J\n"


def test_registers(tmp_path: Path) -> None:
    attr = Attr(sample_type=PLAIN | REGS_USER | REGS_INTR, regs=0x181, intr=0x20001)
    sample = BUILD.sample(attr, time=2000, regs=(1, 0x7FFE, 0x401000), intr=(0xC6, 9))
    text = script(tmp_path, attr, [sample], "comm,iregs,uregs")
    assert text.splitlines() == [
        "            prog  ABI:2    AX:0xc6    R9:0x9  ABI:2    AX:0x1    SP:0x7ffe    IP:0x401000 "
    ]


BRANCHES = Attr(sample_type=PLAIN | BRANCH_STACK, branch=1 << 3 | 1 << 17)
STACK = ((0x400010, 0x400020, 2 | 300 << 4 | 4 << 20), (0x400030, 0x900000, 1 | 4 | 8), (0x5, 0x6, 15 << 20 | 3 << 26))


def test_branches(tmp_path: Path) -> None:
    sample = BUILD.sample(BRANCHES, time=2000, branches=STACK, hw_idx=0)
    assert script(tmp_path, BRANCHES, [sample], "brstack") == (
        " 0x400010/0x400020/P/-/-/300/CALL/-  0x400030/0x900000/M/X/A/0//-  0x5/0x6/-/-/-/0/ARCH_1/- \n"
    )


def test_files_of_branches(tmp_path: Path) -> None:
    sample = BUILD.sample(BRANCHES, time=2000, branches=STACK[:2], hw_idx=0)
    assert script(tmp_path, BRANCHES, [sample], "brstack,dso") == (
        " 0x400010 (/bin/prog)/0x400020 (/bin/prog)/P/-/-/300/CALL/- "
        " 0x400030 (/bin/prog)/0x900000 ([unknown])/M/X/A/0//- \n"
    )


def test_control_groups(tmp_path: Path) -> None:
    attr = Attr(sample_type=PLAIN | CGROUP)
    made = BUILD.plain(attr, 19, BUILD.words(5) + BUILD.name(b"/a/b"))
    samples = [BUILD.sample(attr, time=2000 + number, cgroup=number) for number in (5, 6)]
    assert script(tmp_path, attr, [made, *samples], "cgroup") == " /a/b\n unknown\n"


def test_bpf_output(tmp_path: Path) -> None:
    attr = Attr(type=1, config=10, sample_type=PLAIN | RAW)
    sample = BUILD.sample(attr, time=2000, raw=b"hello world\0")
    assert script(tmp_path, attr, [sample], "event,bpf-output") == (
        "bpf-output: \n"
        "      BPF output: 0000: 68 65 6c 6c 6f 20 77 6f  hello wo\n"
        "                  0008: 72 6c 64 00              rld.    \n"
        '      BPF string: "hello world"\n\n'
    )


def test_the_time_of_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    attr = Attr()
    features = {29: struct.pack("=IIQQ", 1, 1, 1_600_000_000 * 10**9 + 5, 1000)}
    sample = BUILD.sample(attr, time=124_456_789)
    assert script(tmp_path, attr, [sample], "tod", features) == "2020-09-13 12:26:40.124455 \n"
    assert script(tmp_path, attr, [sample], "tod", features, "--ns") == "2020-09-13 12:26:40.124455794 \n"


def test_places_in_files(tmp_path: Path) -> None:
    attr = Attr()
    text = script(tmp_path, attr, [BUILD.sample(attr, time=2000, ip=0x900000)], "ip,dso,dsoff")
    assert text == "           900000 ([unknown])\n"


def test_fields_that_only_traces_of_processors_have_are_empty(tmp_path: Path) -> None:
    attr = Attr()
    sample = BUILD.sample(attr, time=2000)
    text = script(tmp_path, attr, [sample], "comm,flags,synth,callindent,ipc,machine_pid,vcpu")
    assert text == "            prog " + " " * 24 + "\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A small program, and where its functions are."""
    folder = tmp_path_factory.mktemp("program")
    source = folder / "small.s"
    source.write_text(
        ".globl _start\n.type _start,@function\n_start: nop\n call leaf\n ret\n.size _start,.-_start\n"
        ".type leaf,@function\nleaf: push %rbp\n pop %rbp\n ret\n.size leaf,.-leaf\n"
        '.section .note.GNU-stack,"",@progbits\n'
    )
    made = folder / "small"
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,-Ttext=0x401000", source, "-o", made], check=True)
    names = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    return made, {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines()}


def of_program(path: Path, program: Path, attr: Attr, sample: bytes, fields: str) -> str:
    file = path / "perf.data"
    mapped = BUILD.mmap2(attr, bytes(program), time=1, start=0x401000, pgoff=0x1000)
    file.write_bytes(BUILD.file([attr], [BUILD.comm(attr, b"prog", time=1), mapped, sample]))
    return CliRunner().invoke(command, ["-F", fields, str(file)], catch_exceptions=False).stdout


def test_code_between_branches(tmp_path: Path, program: tuple[Path, dict[str, int]]) -> None:
    file, at = program
    start, call, leaf = at["_start"], at["_start"] + 1, at["leaf"]
    # Returned to _start's begin from elsewhere, then called leaf.
    stack = ((call, leaf, 2 | 10 << 4), (leaf + 2, start, 1))
    sample = BUILD.sample(BRANCHES, ip=leaf + 1, time=2000, branches=stack, hw_idx=0)
    text = of_program(tmp_path, file, BRANCHES, sample, "brstackinsn")
    assert text.replace(f"{0:08x}", "") == (
        "\n"
        "\tleaf+2:\n"
        f"\t{leaf + 2:08x}\tinsn: c3                      \t# MISPRED\n"
        "\t_start:\n"
        f"\t{start:08x}\tinsn: 90 \n"
        f"\t{call:08x}\tinsn: e8 01 00 00 00          \t# PRED 10 cycles [10] 0.20 IPC\n"
        "\tleaf:\n"
        f"\t{leaf:08x}\tinsn: 55 \n"
        f"\t{leaf + 1:08x}\tinsn: 5d \n"
        "\n"
    )


def test_symbols_of_branches(tmp_path: Path, program: tuple[Path, dict[str, int]]) -> None:
    file, at = program
    stack = ((at["_start"] + 1, at["leaf"], 2),)
    sample = BUILD.sample(BRANCHES, ip=at["leaf"], time=2000, branches=stack, hw_idx=0)
    assert of_program(tmp_path, file, BRANCHES, sample, "brstacksym") == "_start+0x1/leaf+0x0/P/-/-/0//- \n"


def test_the_instruction_and_its_length(tmp_path: Path, program: tuple[Path, dict[str, int]]) -> None:
    file, at = program
    attr = Attr()
    sample = BUILD.sample(attr, ip=at["_start"] + 1, time=2000)
    assert of_program(tmp_path, file, attr, sample, "insn,insnlen") == " ilen: 5 insn: e8 01 00 00 00\n"


def test_the_symbol_of_a_faulting_address(tmp_path: Path, program: tuple[Path, dict[str, int]]) -> None:
    file, at = program
    attr = Attr(type=1, config=2, sample_type=PLAIN | ADDR)
    sample = BUILD.sample(attr, ip=at["leaf"], addr=at["leaf"] + 1, time=2000)
    line = of_program(tmp_path, file, attr, sample, "addr,sym,symoff,dso")
    assert line == f"{at['leaf'] + 1:16x} leaf+0x1 ({file})\n"
    other = Attr(sample_type=PLAIN | ADDR)
    # Of other events the address need not be what the function touches.
    sample = BUILD.sample(other, ip=at["leaf"], addr=at["leaf"] + 1, time=2000)
    assert of_program(tmp_path, file, other, sample, "addr,sym") == f"{at['leaf'] + 1:16x}\n"


def test_code_between_branches_is_limited(tmp_path: Path, program: tuple[Path, dict[str, int]]) -> None:
    from undwarf.api import open_recording

    file, at = program
    stack = ((at["_start"] + 1, at["leaf"], 2), (at["leaf"] + 2, at["_start"], 2)) * 500
    sample = BUILD.sample(BRANCHES, ip=at["leaf"], time=2000, branches=stack, hw_idx=0)
    of_program(tmp_path, file, BRANCHES, sample, "brstackinsn")
    lengths = []
    for limit in (DEFAULT.branch_code_bytes, 100):
        with open_recording(tmp_path / "perf.data") as recording:
            profile = recording.profile(by_time=True, runtime=True)
            from dataclasses import replace

            limits = DEFAULT._replace(branch_code_bytes=limit, branches=2000)
            sources = Sources(recording.data, recording.records, profile, recording.addresses, limits)
            fields = SampleFields(sources, [frozenset({"brstackinsn"})])
            lengths.append(len(fields.text(4, 0)))
            limited = SampleFields(replace(sources, limits=limits._replace(branches=1)), [frozenset({"brstack"})])
            assert limited.text(4, 0).count(b"/-/-/0//- ") == 1
            assert any("branch stack" in str(defect) for defect in recording.defects)
            fields.close()
            limited.close()
    assert lengths[0] > 10 * lengths[1] > 0


# What is asked for -------------------------------------------------------------------------------------


class _Event:
    def __init__(self, type_: int, sample_type: int) -> None:
        self.name, self.type, self.sample_type = "event", type_, sample_type


def test_fields_may_be_of_one_type_of_events() -> None:
    trace, cycles = _Event(2, PLAIN | RAW), _Event(0, PLAIN)
    asked = ("comm,ip", "trace:time,trace")
    assert fields_of_event(trace, asked)[0] == {"time", "trace"}
    assert fields_of_event(cycles, asked)[0] == {"comm", "ip"}


def test_an_empty_list_of_a_type_shows_nothing(tmp_path: Path) -> None:
    assert fields_of_event(_Event(0, PLAIN), "hw:")[0] == set()
    attr = Attr(type=0)
    sample = BUILD.sample(attr, time=2000)
    assert script(tmp_path, attr, [sample], "hw:") == ""
    assert script(tmp_path, attr, [sample], "sw:") != ""


def test_changes_are_of_what_was_asked_for_before() -> None:
    assert fields_of_event(_Event(0, PLAIN), ("comm,ip", "+sym,-comm"))[0] == {"ip", "sym"}


def test_tracepoints_with_chains_show_them() -> None:
    assert "ip" in fields_of_event(_Event(2, PLAIN | RAW | CALLCHAIN), None)[0]
    assert "ip" not in fields_of_event(_Event(2, PLAIN | RAW), None)[0]


def test_a_type_that_is_not_known_is_refused() -> None:
    from undwarf.errors import UsageError

    with pytest.raises(UsageError):
        parse_fields("nonsense:comm")


def test_names_in_the_help_are_all_there_are() -> None:
    from undwarf.cli.main import undwarf
    from undwarf.outputs.script import NAMES

    completion = BashComplete(undwarf, {}, "undwarf", "_UNDWARF_COMPLETE")

    def completed(given: str) -> list[str]:
        return [one.value for one in completion.get_completions(["script", "-F"], given)]

    assert sorted(completed("")) == sorted(NAMES)
    assert completed("comm,brstacks") == ["comm,brstacksym"]
    assert completed("trace:+tr") == ["trace:+trace"]
    assert completed("bpf-o") == ["bpf-output"]
