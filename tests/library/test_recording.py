"""A recording as programs see it."""

import io
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from tests.support.commands import recording as three_samples
from tests.support.perfdata.build import Attr, Build

import undwarf

FOLDER = Path(__file__).parents[2] / "examples" / "recording"
PID = 10473


@pytest.fixture
def words() -> undwarf.Recording:
    return undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False)


def test_the_machinery_is_not_public(words: undwarf.Recording) -> None:
    public = {name for name in dir(words) if not name.startswith("_")}
    assert public == {
        *("path", "header", "events", "defects", "processes", "images", "mappings", "time_range", "iter_records"),
        *("profile", "data_types", "verify_calls", "add_text", "shrink", "closed", "close"),
    }


def test_the_header_says_what_was_recorded(words: undwarf.Recording) -> None:
    header = words.header
    assert (header.hostname, header.arch, header.cpus, header.memory) == ("vm", "x86_64", 2, 24731712 << 10)
    assert header.cmdline[-2:] == ("/demo/words", "500")


def test_keywords_change_the_options_given() -> None:
    options = undwarf.Options(symfs="/nowhere")
    with undwarf.open(FOLDER / "words.data", options, symfs=FOLDER, cache=False) as recording:
        assert recording.profile().samples[0].stack[-1].name == "_start"


def test_options_cannot_be_changed_in_place() -> None:
    options = undwarf.Options()
    with pytest.raises(FrozenInstanceError):
        options.symfs = "/"  # type: ignore[misc]
    assert replace(options, symfs="/").symfs == "/"


def test_unknown_options_are_errors() -> None:
    with pytest.raises(TypeError, match="sysroot"):
        undwarf.open(FOLDER / "words.data", sysroot="/")  # type: ignore[call-arg]


def test_profile_options_and_keywords_give_the_same(words: undwarf.Recording) -> None:
    filters = undwarf.Filters(end=words.time_range[0] + 500_000_000)
    one = words.profile(undwarf.ProfileOptions(filters=filters, inline=False))
    other = words.profile(filters=filters, inline=False)
    assert 0 < len(one.samples) == len(other.samples) < 1127
    assert list(one.samples) == list(other.samples)


def test_addresses_in_the_process_are_those_of_debuggers(words: undwarf.Recording) -> None:
    stack = words.profile(runtime=True, inline=False).samples[0].stack
    # The program is not position-independent.
    assert [frame.runtime for frame in stack] == [int(frame.address) for frame in stack]


def test_processes_have_their_threads_and_samples() -> None:
    build = Build()
    attr = Attr(ids=[1])
    records = [
        build.comm(attr, b"shell", pid=1, tid=1, time=1),
        build.task(attr, 7, pid=7, tid=7, ppid=1, ptid=1, time=2),
        build.comm(attr, b"server", pid=7, tid=7, time=3),
        build.task(attr, 7, pid=7, tid=8, ppid=7, ptid=7, time=4),
        build.sample(attr, ip=0x1000, pid=7, tid=8, time=5),
    ]
    with undwarf.open(io.BytesIO(build.file([attr], records))) as recording:
        processes = recording.processes
    assert processes[7] == undwarf.Process(7, "server", 1, {7: "server", 8: "server"}, 1, start=2)
    assert processes[1] == undwarf.Process(1, "shell", None, {1: "shell"}, 0)


def test_mappings_are_those_of_the_time(words: undwarf.Recording) -> None:
    first = next(one for one in words.iter_records() if isinstance(one, undwarf.MmapRecord) and one.executable)
    assert words.mappings(PID, first.time - 1) == []
    (program,) = [one for one in words.mappings(PID, first.time) if one.path == "/demo/words"]
    assert (program.start, program.end, program.executable) == (first.start, first.end, True)
    assert "[vdso]" in {one.path for one in words.mappings(PID)}


def test_records_come_in_order_of_time(words: undwarf.Recording) -> None:
    records = list(words.iter_records())
    times = [record.time for record in records]
    assert times == sorted(times)
    samples = [record for record in records if isinstance(record, undwarf.SampleRecord)]
    columns = words.profile(names=False).samples
    found = [(columns.time[one.number], columns.ip[one.number]) for one in samples]
    assert [(one.time, one.ip) for one in samples] == found
    assert {one.number for one in samples} == set(range(1127))


def test_an_event_has_a_name_with_and_without_modifiers(words: undwarf.Recording) -> None:
    profile = words.profile()
    totals = {
        profile.call_tree(event=event, weight="samples").total for event in (None, 0, "task-clock:u", "task-clock")
    }
    assert totals == {1127}


@pytest.mark.parametrize("event", ["cycles", 1, -1])
def test_an_event_that_is_not_there_is_an_error(words: undwarf.Recording, event: int | str) -> None:
    profile = words.profile()
    with pytest.raises(undwarf.UsageError, match="has no event") as refused:
        profile.callers(event=event)
    assert "task-clock:u" in refused.value.hint
    with pytest.raises(undwarf.UsageError, match="has no event"):
        words.data_types(event=event)


def test_reprs_say_what_there_is(words: undwarf.Recording) -> None:
    assert repr(words) == f"<undwarf.Recording {FOLDER}/words.data: task-clock:u>"
    profile = words.profile(inline=False)
    assert repr(words) == f"<undwarf.Recording {FOLDER}/words.data: 1,127 samples, task-clock:u>"
    assert repr(profile) == f"<undwarf.Profile: 1,127 samples, {len(profile.stacks):,} stack nodes, task-clock:u>"
    assert repr(profile.samples) == "<undwarf.SampleView: 1,127 samples>"
    tree = profile.call_tree(weight="samples")
    assert repr(tree) == "<undwarf.CallTree: total 1,127, 1 roots>"
    assert repr(tree.roots[0]) == "<undwarf.TreeNode '_start': weight 1,127, 1 children>"
    assert repr(words.defects) == "<undwarf.Defects: 0 kinds, 0 in all>"


def test_closing_twice_is_closing(words: undwarf.Recording) -> None:
    profile = words.profile()
    assert not words.closed
    words.close()
    words.close()
    assert words.closed
    assert repr(words).endswith("closed>")
    assert profile.samples[0].comm == "words"


def test_images_tell_their_problems_once_they_were_used() -> None:
    with undwarf.open(io.BytesIO(three_samples()), cache=False) as recording:
        before = {image.path: image.problem for image in recording.images}
        recording.profile()
        after = {image.path: image.problem for image in recording.images}
    assert before == {"/nowhere/prog": ""}
    assert set(after) == set(before)
    assert after["/nowhere/prog"]
