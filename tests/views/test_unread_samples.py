"""Recordings whose samples are not in records, or whose registers cannot be relied on.

The machines are not here: the recordings are made from what perf writes for them (PMU_MAPPINGS, attributes, AUX
records), not recorded.
"""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.perfdata.build import (
    CPU,
    IDENTIFIER,
    IP,
    PERIOD,
    PLAIN,
    REGS_USER,
    SAMPLE_ID_ALL,
    STACK_USER,
    TID,
    TIME,
    Attr,
    Build,
)  # fmt: skip  # a list of bits

from undwarf.api import open_recording
from undwarf.cli.main import undwarf
from undwarf.errors import NothingUsable
from undwarf.perfdata.features import Feature
from undwarf.views.unread_samples import Note, notes

BUILD = Build()
SPE, PT, COMMAND = 9, 10, b"program"
PRECISE_1, PRECISE, AUX_OUTPUT = 1 << 15, 3 << 15, 1 << 31
INTEL, AMD, AARCH64_ID = "GenuineIntel,6,94,3", "AuthenticAMD,25,17,1", "0x00000000410fd0c0"
DUMMY = Attr(config=9, sample_type=IDENTIFIER | IP | TID | TIME | CPU | PERIOD, ids=[8], period=1)
AUX_BYTES = 4096


def recording(
    folder: Path, attrs: list[Attr], *, pmus: dict[int, str], header: dict[int, str], aux: int = 0, samples: int = 0
) -> Path:
    """A recording of these events with a trace of ``aux`` bytes, and samples of the last of them."""
    records = [BUILD.comm(attrs[-1], COMMAND, ident=attrs[-1].ids[0])]
    if aux:
        # struct perf_record_auxtrace_info: the kind of trace, and no private words; perf_record_auxtrace: its size.
        records.append(BUILD.record(70, BUILD.pack("II", 4, 0)))
        records.append(BUILD.plain(attrs[0], 11, BUILD.words(0, aux, 0), ident=attrs[0].ids[0], time=5))
        records.append(BUILD.plain(attrs[-1], 21, BUILD.words(1), ident=attrs[-1].ids[0], time=6))
        records.append(BUILD.record(71, BUILD.words(aux, 0, 0) + BUILD.pack("IIII", 0, 10, 0, 0)) + bytes(aux))
    of = {"ident": attrs[-1].ids[0], "regs": (0,) * 9, "stack": b""}
    records += [BUILD.sample(attrs[-1], time=1000 + time, **of) for time in range(samples)]
    mappings = BUILD.pack("I", len(pmus))
    mappings += b"".join(BUILD.pack("I", number) + BUILD.string(name) for number, name in pmus.items())
    features = {number: BUILD.string(text) for number, text in header.items()} | {int(Feature.PMU_MAPPINGS): mappings}
    path = folder / "perf.data"
    path.write_bytes(BUILD.file(attrs, records, features))
    return path


def found(path: Path) -> list[Note]:
    with open_recording(path) as opened:
        return notes(opened)


def precise(precise_ip: int, **changes: Any) -> Attr:
    """``cycles`` with a stack dump."""
    fields = PLAIN | IDENTIFIER | REGS_USER | STACK_USER
    given = {"type": 0, "sample_type": fields, "regs": 0x1FF, "stack": 8192, "ids": [7], **changes}
    return Attr(flags=SAMPLE_ID_ALL | precise_ip, **given)


@pytest.fixture
def spe(tmp_path: Path) -> Path:
    """``perf record -e arm_spe//``."""
    traced = Attr(type=SPE, config=0x700010001, sample_type=IDENTIFIER | TID | TIME | CPU, ids=[7], period=1)
    header = {int(Feature.ARCH): "aarch64", int(Feature.CPUID): AARCH64_ID}
    return recording(tmp_path, [traced, DUMMY], pmus={SPE: "arm_spe_0"}, header=header, aux=AUX_BYTES)


def test_samples_of_arms_spe_are_in_a_trace(spe: Path) -> None:
    (one,) = found(spe)
    assert (one.kind, one.bytes) == ("trace", AUX_BYTES)
    assert "Arm's SPE writes its samples to the AUX area, which is not read" in one.text


@pytest.mark.parametrize("command", ["report", "script", "fold", "types"])
def test_commands_say_where_the_samples_are(spe: Path, command: str) -> None:
    error = CliRunner().invoke(undwarf, [command, str(spe)]).exception
    assert isinstance(error, NothingUsable)
    assert "AUX area" in error.why
    assert "perf inject --itrace" in error.hint


def test_info_shows_what_is_not_read(spe: Path) -> None:
    shown = CliRunner().invoke(undwarf, ["info", str(spe)]).output
    assert "Arm's SPE writes its samples to the AUX area, which is not read; they have no stack (4,096 bytes)" in shown
    assert "→ perf inject --itrace" in shown
    document = json.loads(CliRunner().invoke(undwarf, ["info", "--json", str(spe)]).output)
    assert [(note["kind"], note["size_bytes"]) for note in document["notes"]] == [("trace", AUX_BYTES)]


def test_samples_of_pebs_via_pt_are_in_the_leaders_trace(tmp_path: Path) -> None:
    leader = Attr(type=PT, sample_type=IDENTIFIER | TID | TIME | CPU, ids=[6], period=1)
    events = [leader, precise(PRECISE | AUX_OUTPUT)]
    path = recording(tmp_path, events, pmus={PT: "intel_pt"}, header={int(Feature.CPUID): INTEL}, aux=AUX_BYTES)
    trace, pebs = found(path)
    assert (trace.kind, pebs.kind) == ("trace", "aux_output")
    assert "Intel PT writes branches" in trace.text
    assert "PEBS via PT" in pebs.text
    with open_recording(path) as opened:
        assert [event.aux_output for event in opened.events] == [False, True]
        assert opened.records.counts["AUX_OUTPUT_HW_ID"] == 1


def test_a_trace_of_an_unknown_unit_is_named_as_well(tmp_path: Path) -> None:
    traced = Attr(type=77, sample_type=IDENTIFIER | TID | TIME | CPU, ids=[7], period=1)
    (one,) = found(recording(tmp_path, [traced, DUMMY], pmus={}, header={}, aux=AUX_BYTES))
    assert (one.kind, one.event, one.bytes) == ("trace", "", AUX_BYTES)


@pytest.mark.parametrize(
    ("attr", "cpuid", "arch", "late"),
    [
        (precise(PRECISE_1), INTEL, "x86_64", True),
        (precise(PRECISE_1), "", "x86_64", True),
        (precise(PRECISE_1), AMD, "x86_64", False),
        (precise(PRECISE), INTEL, "x86_64", False),
        (precise(0), INTEL, "x86_64", False),
        (precise(PRECISE_1, type=1), INTEL, "x86_64", False),
        (precise(PRECISE_1), AARCH64_ID, "aarch64", False),
        (
            Attr(type=0, flags=SAMPLE_ID_ALL | PRECISE_1, sample_type=PLAIN | IDENTIFIER, ids=[7]),
            INTEL,
            "x86_64",
            False,
        ),
    ],
)
def test_registers_that_are_late_without_a_mark_are_warned_of(
    tmp_path: Path, attr: Attr, cpuid: str, arch: str, late: bool
) -> None:
    header = {int(Feature.ARCH): arch, int(Feature.OSRELEASE): "6.1.0"}
    header |= {int(Feature.CPUID): cpuid} if cpuid else {}
    path = recording(tmp_path, [attr], pmus={}, header=header, samples=3)
    assert [one.kind for one in found(path)] == (["late"] if late else [])
    if late:
        shown = CliRunner().invoke(undwarf, ["info", str(path)]).output
        assert "no mark says so" in shown
        assert "→ record cycles, or with :pp or :P" in shown


def test_recordings_without_any_of_that_have_no_notes(tmp_path: Path) -> None:
    assert found(recording(tmp_path, [DUMMY], pmus={PT: "intel_pt"}, header={}, samples=1)) == []


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    from undwarf.outputs.info import InfoOptions, write
    from undwarf.views.overview import overview

    traced = Attr(type=SPE, sample_type=IDENTIFIER | TID | TIME | CPU, ids=[7], period=1)
    path = recording(tmp_path, [traced, DUMMY], pmus={SPE: "arm_spe\x1b[31m"}, header={}, aux=AUX_BYTES)
    sink = io.StringIO()
    with open_recording(path) as opened:
        write(overview(opened, opened.profile()), sink, InfoOptions())
    assert "SPE" in sink.getvalue()
    assert "\x1b" not in sink.getvalue()
