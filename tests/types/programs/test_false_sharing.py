"""False sharing, on recordings of samples put at chosen stores."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.documents import document
from tests.support.page_parts import parts_of
from tests.support.perfdata.build import ADDR, IDENTIFIER, PHYS_ADDR, PLAIN, REGS_USER, Attr
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

from undwarf.api import OpenedRecording, open_recording
from undwarf.cli.main import undwarf

PAIR = """
struct pair { long head, tail; char gap[112]; long far; };
struct pair *made; long done;
__attribute__((noinline)) void put(struct pair *p) { p->head += 3; done = 1; }
__attribute__((noinline)) void get(struct pair *p) { p->tail += 5; done = 2; }
__attribute__((noinline)) void end(struct pair *p) { p->far += 7; done = 3; }
int main(int argc, char **argv) { put(made); get(made); end(made); return 0; }
"""
REGISTERS = 0xFF0FFF
"""perf's mask of x86-64 registers; the sixth is rdi, the first argument."""
WITH_REGISTERS = Attr(sample_type=PLAIN | REGS_USER | IDENTIFIER, type=1, config=0, regs=REGISTERS, ids=[7], size=128)
WITH_ADDRESSES = Attr(sample_type=PLAIN | ADDR | PHYS_ADDR | IDENTIFIER, type=1, config=0, ids=[7], size=128)
PRECISE = replace(WITH_REGISTERS, type=4, flags=2 << 15)
EXACT = 2 | 1 << 14
OSRELEASE, CPUID = 4, 9
"""Numbers of header features."""
PEBS = {OSRELEASE: "6.18.0", CPUID: "GenuineIntel,6,143,8"}
"""A machine whose precise samples have the registers after the instruction."""
PLAIN_ONLY = Attr(sample_type=PLAIN | IDENTIFIER, type=1, config=0, ids=[7], size=128)
OBJECT = 0x7F00_0000_1000

Found = list[dict[str, Any]]
Side = tuple[str, int, int, int]
Share = Callable[..., Found]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    binary = build(tmp_path_factory.mktemp("pair"), PAIR, "pair.c", "-O2")
    members = (("put", "head"), ("get", "tail"), ("end", "far"))
    return binary, {member: place(binary, function, "struct pair", member, "w") for function, member in members}


@pytest.fixture
def share(program: tuple[Path, dict[str, int]], tmp_path: Path) -> Share:
    """The clashes found in alternating samples (member, thread, cpu, object)."""
    binary, places = program

    def sharing(
        *sides: Side,
        attr: Attr = WITH_REGISTERS,
        apart: bool = False,
        pids: tuple[int, ...] = (10, 10, 10, 10),
        line_size: int = 0,
        header: dict[int, str] | None = None,
        misc: int = 2,
        sp: int = 0x7FFE_0000_1000,
    ) -> Found:
        samples = []
        for turn in range(4):
            for number, (member, thread, cpu, at) in enumerate(sides):
                registers = [0] * 20
                registers[5] = at
                registers[7] = sp
                offset = {"head": 0, "tail": 8, "far": 128}[member]
                samples.append(
                    {
                        "ip": places[member],
                        "pid": pids[number],
                        "tid": thread,
                        "cpu": cpu,
                        "regs": tuple(registers),
                        "addr": at + offset,
                        "misc": misc,
                        "time": 10_000 + 100 * turn + number + (100_000 * number if apart else 0),
                    }
                )
        samples.sort(key=lambda one: one["time"])
        data = memory_recording(tmp_path, binary, samples, attr, line_size=line_size, header=header)
        result = CliRunner().invoke(undwarf, ["types", "--json", str(data)])
        assert result.exit_code == 0, result.output
        found: Found = document(result.stdout)["sharing"]["found"]
        return found

    return sharing


CLASH = (("head", 11, 0, OBJECT), ("tail", 12, 1, OBJECT))
"""Two threads on two cpus write to members of one line."""


@pytest.mark.parametrize("attr", [WITH_REGISTERS, WITH_ADDRESSES])
def test_members_of_one_object_written_on_two_cpus_clash(share: Share, attr: Attr) -> None:
    (one,) = share(*CLASH, attr=attr)
    assert (one["kind"], one["evidence"], one["lines"], one["address"]) == (
        "false sharing",
        "addresses",
        1,
        f"{OBJECT:#x}",
    )
    assert [(party["field"], party["threads"], party["cpus"]) for party in one["written"]] == [
        ("head", [11], [0]),
        ("tail", [12], [1]),
    ]
    assert (one["several_objects"], one["inferred"], one["cpus_known"], one["samples"]) == (False, False, True, 8)


@pytest.mark.parametrize(
    ("first", "second", "clashes"),
    [
        (CLASH[0], CLASH[1], 1),
        # Objects, or members, on lines of their own.
        (CLASH[0], ("tail", 12, 1, OBJECT + 256), 0),
        (CLASH[0], ("far", 12, 1, OBJECT), 0),
        # The object starts in the middle of a line, so that its first line in the type is two lines of the memory.
        (("head", 11, 0, OBJECT + 56), ("tail", 12, 1, OBJECT + 56), 0),
        # One thread, or one cpu.
        (CLASH[0], ("tail", 11, 1, OBJECT), 0),
        (CLASH[0], ("tail", 12, 0, OBJECT), 0),
    ],
)
def test_false_sharing_takes_one_line_two_threads_and_two_cpus(
    share: Share, first: Side, second: Side, clashes: int
) -> None:
    assert len(share(first, second)) == clashes


def test_objects_that_share_a_line_clash(share: Share) -> None:
    (one,) = share(("head", 11, 0, OBJECT), ("head", 12, 1, OBJECT + 16))
    assert (one["kind"], one["several_objects"]) == ("false sharing", True)


def test_the_same_bytes_are_no_false_sharing(share: Share) -> None:
    (one,) = share(("head", 11, 0, OBJECT), ("head", 12, 1, OBJECT))
    assert one["kind"] == "same bytes"


def test_one_after_the_other_is_no_clash(share: Share) -> None:
    assert share(*CLASH)
    assert share(*CLASH, apart=True) == []


def test_threads_one_after_the_other_need_no_addresses(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    known = OpenedRecording.data_addresses

    def noted(recording: OpenedRecording, *given: Any) -> Any:
        asked.append(given)
        return known(recording, *given)

    monkeypatch.setattr(OpenedRecording, "data_addresses", noted)
    assert share(*CLASH, ("tail", 13, 0, OBJECT), apart=True) == []
    assert not asked
    share(*CLASH)
    assert asked


def test_without_addresses_types_are_the_evidence(share: Share) -> None:
    (one,) = share(*CLASH, attr=PLAIN_ONLY)
    assert (one["kind"], one["evidence"], one["line"]) == ("false sharing", "type", 0)
    assert (one["address"], one["lines"], one["several_objects"]) == (None, None, None)


def test_without_addresses_equal_threads_are_taken_as_separate(share: Share) -> None:
    both = [(member, thread, thread - 11, OBJECT) for member in ("head", "tail") for thread in (11, 12)]
    assert share(both[0], both[3], attr=PLAIN_ONLY)
    assert share(*both, attr=PLAIN_ONLY) == []


def test_processes_do_not_clash_with_each_other(share: Share) -> None:
    both = CLASH
    assert share(*both, attr=PLAIN_ONLY, pids=(11, 12)) == []
    assert share(*both, attr=WITH_REGISTERS, pids=(11, 12)) == []
    # Of each process's threads on their own, the same type and line is told once.
    more = (*both, ("head", 21, 0, OBJECT), ("tail", 22, 1, OBJECT))
    (one,) = share(*more, attr=PLAIN_ONLY, pids=(11, 11, 21, 21))
    assert [party["threads"] for party in one["written"]] == [[11, 21], [12, 22]]


def test_processes_share_the_memory_of_the_kernel(share: Share) -> None:
    kernel = 0xFFFF_8880_0000_1000
    (one,) = share(("head", 11, 0, kernel), ("tail", 12, 1, kernel), attr=WITH_REGISTERS, pids=(11, 12))
    assert (one["kind"], one["address"]) == ("false sharing", f"{kernel:#x}")


@pytest.mark.parametrize("attr", [WITH_ADDRESSES, PLAIN_ONLY])
def test_the_recorded_machine_gives_the_line_size(share: Share, attr: Attr) -> None:
    far = (("head", 11, 0, OBJECT), ("far", 12, 1, OBJECT))
    assert share(*far, attr=attr, line_size=128) == []
    (one,) = share(*far, attr=attr, line_size=256)
    assert one["kind"] == "false sharing"
    assert share(*CLASH, attr=attr, line_size=128)
    # No machine has such lines.
    assert share(*far, attr=attr, line_size=1 << 31) == []


def test_the_text_names_the_evidence(program: tuple[Path, dict[str, int]], share: Share, tmp_path: Path) -> None:
    share(*CLASH)
    text = CliRunner().invoke(undwarf, ["types", str(tmp_path / "memory.data")]).stdout
    assert "False sharing" in text
    assert f"struct pair  1 line, one at {OBJECT:#x}, by data address" in text
    assert "head written by thread 11 on cpu 0" in text
    share(*CLASH, attr=PLAIN_ONLY)
    text = CliRunner().invoke(undwarf, ["types", str(tmp_path / "memory.data")]).stdout
    assert "line 0, by type: if the objects are the same" in text
    text = CliRunner().invoke(undwarf, ["types", "--type", "pair", str(tmp_path / "memory.data")]).stdout
    assert "False sharing" in text
    page = tmp_path / "types.html"
    CliRunner().invoke(undwarf, ["types", "--html", str(page), str(tmp_path / "memory.data")])
    (found,) = parts_of(page.read_text())["types"].sharing["found"]
    assert (found["kind"], found["place"][:15]) == ("false sharing", "line 0, by type")


def test_loads_and_stores_of_two_events_are_combined(program: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    binary, places = program
    first, second = WITH_ADDRESSES, replace(WITH_ADDRESSES, config=1, ids=[8])
    samples = [
        {"ip": places[member], "tid": tid, "cpu": tid, "addr": OBJECT + at, "ident": ident, "time": 10_000 + turn}
        for turn in range(4)
        for member, at, tid, ident in (("head", 0, 1, 7), ("tail", 8, 2, 8))
    ]
    data = memory_recording(tmp_path, binary, samples, first, second)
    report = json.loads(CliRunner().invoke(undwarf, ["types", "--json", str(data)]).stdout)
    assert len(report["events"]) == 2
    assert (report["sharing"]["weighted_by"], report["sharing"]["weight"]) == ("samples", 8)
    (one,) = report["sharing"]["found"]
    assert (one["kind"], one["weight"]) == ("false sharing", 8)
    text = CliRunner().invoke(undwarf, ["types", "--type", "pair", str(data)]).stdout
    assert text.count("136 bytes") == 2
    assert text.count("False sharing") == 1


@pytest.mark.parametrize(
    ("attr", "misc", "header", "evidence"),
    [
        (WITH_REGISTERS, 2, None, "addresses"),
        # `addq $3, (%rdi)` leaves rdi; on the way to an interrupt some instructions later the function returns.
        (PRECISE, EXACT, PEBS, "addresses"),
        (PRECISE, EXACT, {**PEBS, OSRELEASE: "6.1.0"}, "type"),
        (PRECISE, EXACT, None, "type"),
        # IBS does not mark a sample whose address is the interrupt's.
        (PRECISE, 2, {CPUID: "AuthenticAMD,25,17,1"}, "addresses"),
        # One `p`: Intel does not mark these.
        (replace(PRECISE, flags=1 << 15), 2, PEBS, "addresses"),
        (replace(PRECISE, flags=1 << 15), 2, {**PEBS, OSRELEASE: "6.1.0"}, "type"),
        # A mark of an event that did not ask for it.
        (WITH_REGISTERS, EXACT, PEBS, "addresses"),
    ],
)
def test_late_registers_are_used_if_nothing_writes_them_on_the_way(
    share: Share, attr: Attr, misc: int, header: dict[int, str] | None, evidence: str
) -> None:
    (one,) = share(*CLASH, attr=attr, misc=misc, header=header)
    assert (one["kind"], one["evidence"]) == ("false sharing", evidence)
    assert one.get("address") == (f"{OBJECT:#x}" if evidence == "addresses" else None)


@pytest.mark.parametrize(("sp", "evidence"), [(0x7FFE_0000_1000, "addresses"), (0xFFFF_C900_0012_3E58, "type")])
def test_registers_of_an_interrupt_in_the_kernel_are_not_the_programs(share: Share, sp: int, evidence: str) -> None:
    (one,) = share(*CLASH, attr=PRECISE, misc=EXACT, header=PEBS, sp=sp)
    assert one["evidence"] == evidence


def test_an_operand_whose_base_is_overwritten_has_no_address(tmp_path: Path) -> None:
    source = """
struct node { long value; struct node *next; };
__attribute__((noinline)) struct node *after(struct node *n) { return n->next; }
__attribute__((noinline)) struct node *step(struct node **n) { struct node *p = *n; return p->next; }
int main(int argc, char **argv) { struct node n = {argc, &n}, *p = &n; return after(&n) == step(&p); }
"""
    binary = build(tmp_path, source, "list.c", "-O2")
    found = []
    for function in ("after", "step"):
        # mov 8(%rdi), %rax; mov 8(%rax), %rax
        at = place(binary, function, "struct node", "next", "r")
        registers = [0] * 20
        registers[0] = registers[5] = OBJECT
        path = memory_recording(tmp_path, binary, [{"ip": at, "regs": tuple(registers)}], PRECISE, header=PEBS)
        with open_recording(path) as recording:
            touched = recording.touch(recording.profile(callers=False, inline=False))
            found.append(list(recording.data_addresses(touched.profile, touched).column))
    assert found == [[OBJECT + 8], [0]]


def test_no_type_depends_on_sampled_registers(program: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    binary, places = program
    answers = []
    for registers in (tuple([0] * 20), tuple(OBJECT + 64 * k for k in range(20)), tuple([(1 << 64) - 1] * 20)):
        samples = [{"ip": at, "regs": registers, "misc": misc} for at in places.values() for misc in (2, EXACT)]
        data = memory_recording(tmp_path, binary, samples, PRECISE, header=PEBS)
        result = CliRunner().invoke(undwarf, ["types", "--json", "--code", str(data)])
        assert result.exit_code == 0, result.output
        (event,) = json.loads(result.stdout)["events"]
        answers.append(event)
    assert answers[0] == answers[1] == answers[2]
    assert {field["field"] for field in answers[0]["types"][0]["fields"]} == {"head", "tail", "far"}
