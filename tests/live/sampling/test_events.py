"""How events are opened: counters that are missing, groups, branches, fields of samples, rates."""

import errno
from pathlib import Path

import pytest
from tests.support.recording import names, record

from undwarf.api import open_recording
from undwarf.cli.main import run
from undwarf.live import perf_event as pe
from undwarf.perfdata import SampleField
from undwarf.unwind.stop_reason import StopReason

pytestmark = pytest.mark.usefixtures("perf_events")


def test_without_hardware_counters_cpu_clock_replaces_cycles(program: str, tmp_path: Path, monkeypatch, capsys):
    """Also when they were asked for by name, as with perf."""
    real = pe.open_event

    def without(event, *arguments, **more):
        if event.type == 0:
            raise OSError(errno.ENOENT, "no such event")
        return real(event, *arguments, **more)

    monkeypatch.setattr(pe, "open_event", without)
    path = str(tmp_path / "perf.data")
    assert run(["record", "-e", "cpu-cycles:u,page-faults", "-o", path, "--", program, "20"]) == 0
    with open_recording(path) as recording:
        assert [event.name for event in recording.events if "dummy" not in event.name] == ["cpu-clock:u", "page-faults"]
    assert "the event is cpu-clock" in capsys.readouterr().err
    assert run(["record", "-e", "instructions", "-o", path, "--", program, "20"]) == 1
    assert "cannot sample instructions" in capsys.readouterr().err


def test_deferred_chains_are_requested_and_may_be_refused(program: str, tmp_path: Path, monkeypatch):
    asked = []

    def refuse(event, *arguments, **options):
        asked.append(event.flags)
        if event.flags & pe.DEFER_CALLCHAIN:
            raise OSError(errno.EINVAL, "as kernels before 6.19 do")
        return opened(event, *arguments, **options)

    opened = pe.open_event
    monkeypatch.setattr(pe, "open_event", refuse)
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--unwind", "fp", "-o", str(path), "--", program, "3"]) == 0
    assert asked[0] & pe.DEFER_CALLCHAIN
    with open_recording(path) as recording:
        assert not any(event.defer_callchain for event in recording.events)
        assert len(recording.records.samples)


@pytest.mark.parametrize("group", ["{cpu-clock,task-clock}", "{cpu-clock,task-clock}:S", "{cpu-clock,task-clock}:u"])
def test_all_events_of_a_group_have_whole_stacks(program: str, tmp_path: Path, group: str):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", group, "-o", str(path), "--", program, "20"]) == 0
    with open_recording(path) as recording:
        samples = list(recording.profile(inline=False).samples)
        inside = {event.name: 0 for event in recording.events if not event.name.startswith("dummy")}
        for sample in samples:
            if "leaf" in names(sample):
                inside[sample.event] += sample.stop == StopReason.ROOT and names(sample)[-1] == "_start"
        assert len(inside) == 2
        assert all(count > 10 for count in inside.values())
        # The dynamic linker, and what the kernel does before there is a program, are a few samples.
        assert sum(inside.values()) > 0.8 * len(samples)


def test_of_a_group_with_s_only_the_first_event_is_sampled(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "{cpu-clock,page-faults}:S", "-o", str(path), "--", program, "3"]) == 0
    with open_recording(path) as recording:
        clock, faults = recording.events[:2]
        assert (clock.freq, clock.read_format & 0xF) == (True, pe.FORMAT_GROUP | pe.FORMAT_ID)
        assert (faults.freq, faults.sample_period, faults.sample_type) == (False, 0, clock.sample_type)
        assert recording.data.features.groups == [("{anon_group}", 0, 2)]


def test_a_machine_without_branch_stacks_is_a_clean_error(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(pe, "has_branches", lambda: False)
    assert run(["record", "-b", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 1
    assert "this CPU does not record branches" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_software_events_have_no_branch_stacks(tmp_path: Path, capsys):
    assert run(["record", "-b", "-e", "cpu-clock", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 2
    assert "no branch stacks with cpu-clock" in capsys.readouterr().err


def test_branches_are_requested_if_the_cpu_records_them(tmp_path: Path, monkeypatch):
    asked = []

    def refuse(event, *_arguments, **_options):
        asked.append(event)
        raise OSError(errno.ENOENT, "no such event")

    monkeypatch.setattr(pe, "has_branches", lambda: True)
    monkeypatch.setattr(pe, "open_event", refuse)
    assert run(["record", "-j", "any_call,u", "-e", "cycles", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 1
    assert asked[0].branch_sample_type == pe.branch_filter("any_call,u")
    assert asked[0].sample_type & SampleField.BRANCH_STACK


def test_samples_may_have_addresses_costs_and_page_sizes(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    fields = ["-d", "-W", "--phys-data", "--data-page-size", "--code-page-size"]
    assert run(["record", "-q", "-e", "page-faults", *fields, "--off-cpu", "-o", str(path), "--", program, "30"]) == 0
    with open_recording(path) as recording:
        wanted = SampleField.ADDR | SampleField.DATA_SRC | SampleField.WEIGHT | SampleField.PHYS_ADDR
        wanted |= SampleField.DATA_PAGE_SIZE | SampleField.CODE_PAGE_SIZE
        assert recording.events[0].sample_type & wanted == wanted
        assert any(recording.records.samples.addr)
        # Code may be on large pages; where the page was not mapped yet, the kernel says 0.
        sizes = set(recording.records.samples.code_page_size) - {0}
        assert sizes
        assert not any(size % 4096 for size in sizes)


def test_with_strict_freq_a_rate_above_the_limit_is_an_error(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(pe, "largest_rate", lambda: 500)
    assert record(tmp_path / "perf.data", "--strict-freq", "-F", "501", "--", "true") == 1
    assert "cannot sample at 501 Hz" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "left_out"), [("--all-user", pe.EXCLUDE_KERNEL), ("--all-kernel", pe.EXCLUDE_USER)])
def test_only_user_mode_or_only_the_kernel_is_recorded(option: str, left_out: int, program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert record(path, "-q", option, "--", program, "3") == 0
    with open_recording(path) as recording:
        assert recording.events[0].flags & (pe.EXCLUDE_KERNEL | pe.EXCLUDE_USER) == left_out
