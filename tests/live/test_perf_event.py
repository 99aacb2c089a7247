"""Parsing of perf's event names, and the errors for events that the kernel refuses."""

import errno
import os

import pytest

from undwarf.errors import UndwarfError, UsageError
from undwarf.live import perf_event as pe
from undwarf.perfdata.events import BREAKPOINT, HARDWARE, HW_CACHE, RAW, SOFTWARE


@pytest.mark.parametrize(
    ("name", "kind", "config"),
    [
        ("cycles", HARDWARE, 0),
        ("cpu-cycles", HARDWARE, 0),
        ("instructions", HARDWARE, 1),
        ("cpu-clock", SOFTWARE, 0),
        ("task-clock", SOFTWARE, 1),
        ("page-faults", SOFTWARE, 2),
        ("faults", SOFTWARE, 2),
        ("cs", SOFTWARE, 3),
        ("LLC-load-misses", HW_CACHE, 2 | 1 << 16),
        ("r1a8", RAW, 0x1A8),
    ],
)
def test_names_are_those_of_perf(name: str, kind: int, config: int):
    event = pe.parse_event(name)
    assert (event.type, event.config, event.name) == (kind, config, name)


def test_modifiers_leave_out_the_other_modes():
    assert pe.parse_event("cycles:u").flags == pe.EXCLUDE_KERNEL | pe.EXCLUDE_HV
    assert pe.parse_event("cycles:k").flags == pe.EXCLUDE_USER | pe.EXCLUDE_HV
    assert pe.parse_event("cycles:uk").flags == pe.EXCLUDE_HV
    assert pe.parse_event("cycles:pp").precise_ip == 2
    assert pe.parse_event("cycles:uppp").precise_ip == 3


@pytest.mark.parametrize(
    ("name", "access", "address", "length"),
    [("mem:0x1000", 3, 0x1000, 4), ("mem:4096/8:w", 2, 4096, 8), ("mem:0x2000:x", 4, 0x2000, 8)],
)
def test_breakpoints(name: str, access: int, address: int, length: int):
    event = pe.parse_event(name)
    assert (event.type, event.bp_type, event.config1, event.config2) == (BREAKPOINT, access, address, length)
    assert event.sample_period == 1


@pytest.mark.parametrize("name", ["", "bicycles", "cycles:z", "mem:zero", "mem:0x1:rx", "mem:0x1/3", "r", ":"])
def test_a_name_that_means_nothing_is_a_usage_error(name: str):
    with pytest.raises(UsageError):
        pe.parse_event(name)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cycles,faults", ["cycles", "faults"]),
        ("{cycles,instructions}:u,cs", ["cycles:u", "instructions:u", "cs"]),
        ("cpu/event=0x3c,umask=1/u,mem:0x1000/8:w", ["cpu/event=0x3c,umask=1/u", "mem:0x1000/8:w"]),
    ],
)
def test_lists_of_events_come_apart_at_their_commas(text: str, names: list[str]):
    assert [name for group, _kind in pe.split_groups(text) for name in group] == names


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("a,{b,c},d", [(["a"], ""), (["b", "c"], "G"), (["d"], "")]),
        ("{a,b}:S", [(["a", "b"], "S")]),
        ("{a,cpu/x=1/}:uS,b", [(["a:u", "cpu/x=1/u"], "S"), (["b"], "")]),
        ("{a:p,b}:k", [(["a:pk", "b:k"], "G")]),
    ],
)
def test_braces_are_groups(text: str, groups: list[tuple[list[str], str]]):
    assert pe.split_groups(text) == groups


@pytest.mark.parametrize("text", ["", ",", "{cycles", "{cycles,faults}:W", "cycles:S", "{}"])
def test_lists_that_mean_nothing_are_usage_errors(text: str):
    with pytest.raises(UsageError):
        pe.parse_events(text)


def test_patterns_are_tracepoints(monkeypatch: pytest.MonkeyPatch, tmp_path):
    for number, name in enumerate(["sched/sched_switch", "sched/sched_wakeup", "irq/irq_handler"]):
        (tmp_path / "events" / name).mkdir(parents=True)
        (tmp_path / "events" / name / "id").write_text(f"{number}\n")
    monkeypatch.setattr(pe, "_TRACEFS", (str(tmp_path),))
    assert [event.name for event in pe.parse_events("sched:sched_*")] == ["sched:sched_switch", "sched:sched_wakeup"]
    assert [event.config for event in pe.parse_events("*:*:u")] == [2, 0, 1]
    with pytest.raises(UndwarfError):
        pe.parse_events("sched:no*")


def test_units_of_the_machine_have_events_by_terms(monkeypatch: pytest.MonkeyPatch, tmp_path):
    unit = tmp_path / "cpu"
    for name, content in [
        ("type", "4"),
        ("format/event", "config:0-7,32-35"),
        ("format/edge", "config:18"),
        ("format/ldlat", "config1:0-15"),
        ("events/cpu-cycles", "event=0x3c,edge"),
    ]:
        (unit / name).parent.mkdir(parents=True, exist_ok=True)
        (unit / name).write_text(content + "\n")
    monkeypatch.setattr(pe.pmu, "DEVICES", str(tmp_path))
    event = pe.parse_event("cpu/event=0x1cd,ldlat=3,freq=99/upp")
    assert (event.type, event.config, event.config1) == (4, 0xCD | 1 << 32, 3)
    assert (event.sample_period, event.freq, event.precise_ip) == (99, True, 2)
    assert pe.parse_event("cpu/cpu-cycles/").config == 0x3C | 1 << 18
    assert pe.parse_event("cpu/config=0x12,name=mine/").name == "mine"
    clock = pe.parse_event("cpu-clock/period=100000/u")
    assert (clock.type, clock.sample_period, clock.flags) == (SOFTWARE, 100_000, pe.EXCLUDE_KERNEL | pe.EXCLUDE_HV)
    for wrong in ("cpu/nothing/", "cpu/event=0x12345/", "cpu/event=x/", "cpu/edge/z"):
        with pytest.raises(UsageError):
            pe.parse_event(wrong)
    with pytest.raises(UndwarfError, match="no such PMU"):
        pe.parse_event("uncore/event=1/")


def test_a_tracepoint_that_is_not_there_says_where_to_look(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(pe, "_TRACEFS", (str(tmp_path),))
    with pytest.raises(UndwarfError, match="tracefs is not mounted"):
        pe.parse_event("sched:sched_switch")
    (tmp_path / "events" / "sched" / "sched_wakeup").mkdir(parents=True)
    (tmp_path / "events" / "sched" / "sched_wakeup" / "id").write_text("317\n")
    assert pe.parse_event("sched:sched_wakeup").config == 317
    with pytest.raises(UndwarfError, match="no tracepoint sched:nothing"):
        pe.parse_event("sched:nothing")


def test_tracing_data_has_the_formats_of_the_tracepoints(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(pe, "_TRACEFS", (str(tmp_path),))
    folder = tmp_path / "events" / "sched" / "sched_wakeup"
    folder.mkdir(parents=True)
    (folder / "id").write_text("317\n")
    (folder / "format").write_text("name: sched_wakeup\n")
    data = pe.tracing_data([pe.parse_event("sched:sched_wakeup")])
    assert data.startswith(b"\x17\x08\x44tracing0.6\0")
    assert b"sched\0\x01\0\0\0" in data
    assert b"name: sched_wakeup\n" in data
    assert pe.tracing_data([pe.parse_event("cpu-clock")]) == b""


@pytest.mark.parametrize("level", [-1, 0, 1, 2, 3])
def test_a_refusal_says_what_is_allowed(monkeypatch: pytest.MonkeyPatch, level: int):
    monkeypatch.setattr(pe, "paranoid", lambda: level)
    error = pe.refusal(PermissionError(errno.EACCES, "no"), pe.parse_event("cpu-clock"), "all CPUs")
    assert error.what == "cannot sample cpu-clock on all CPUs"
    assert f"perf_event_paranoid is {level}" in error.why
    assert "CAP_PERFMON" in error.hint


def test_what_is_denied_altogether_is_told_from_what_others_may(monkeypatch: pytest.MonkeyPatch):
    denied, clock = PermissionError(errno.EPERM, "no"), pe.parse_event("cpu-clock")
    monkeypatch.setattr(pe, "paranoid", lambda: 2)
    monkeypatch.setattr(pe, "may_see_own", lambda: False)
    assert "seccomp" in pe.refusal(denied, clock, "the new process true").why
    monkeypatch.setattr(pe, "may_see_own", lambda: True)
    assert "another user's" in pe.refusal(denied, clock, "process 1").why
    assert "outside of the kernel" in pe.refusal(denied, clock, "all CPUs").why


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EMFILE, errno.ENOSPC, errno.EINVAL, errno.EIO])
def test_other_refusals_have_a_reason(number: int):
    error = pe.refusal(OSError(number, os.strerror(number)), pe.parse_event("cycles"), "process 1")
    assert error.why
