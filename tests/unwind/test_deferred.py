"""User chains that come after their samples: each gets the right one, or says that it never came."""

import io
import struct
from pathlib import Path

import pytest
from tests.support.deferred_world import World
from tests.support.perfdata import writing

import undwarf
from undwarf.api import open_recording
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata.record_writer import RecordEncoder, finished_round, record
from undwarf.perfdata.writer import PerfWriter

KERNEL, USER, DEFERRED = 2**64 - 128, 2**64 - 512, 2**64 - 640
KERNEL_ADDRESS = 0xFFFFFFFF81000100
EVENT = writing.event(flags=writing.SAMPLE_ID_ALL | writing.FREQ | 1 << 38 | 1 << 39, ids=(1,))
RECORDS = RecordEncoder(EVENT)


def sample(time: int, cookie: int, tid: int = 10, pid: int = 10, chain: tuple[int, ...] | None = None) -> bytes:
    """A sample in the kernel whose user chain is to come later."""
    words = (KERNEL, KERNEL_ADDRESS, DEFERRED, cookie) if chain is None else chain
    body = struct.pack("=QQIIQIIQ", 1, KERNEL_ADDRESS, pid, tid, time, 0, 0, 1)
    return record(9, body + struct.pack(f"={1 + len(words)}Q", len(words), *words), 1)


def start(*tids: int) -> list[bytes]:
    """Process 10 with its mapping of /bin/one at 0x400000, and its threads."""
    found = [RECORDS.comm(b"prog", 10, 10, exec_=True, time=10)]
    found += [RECORDS.fork(10, tid, 10, 10, time=11) for tid in tids]
    return [*found, RECORDS.mmap2(b"/bin/one", 10, 10, 0x400000, 0x10000, time=20)]


def recording(*records: bytes, event: EventAttr = EVENT) -> bytes:
    sink = io.BytesIO()
    with PerfWriter(sink, [event], features=writing.features([event])) as writer:
        for one in records:
            writer.write(one)
        writer.write(finished_round())
    return sink.getvalue()


def unwound(path: Path, *records: bytes, **more: EventAttr):
    """(user frames of each sample in time order as (dso, address), the profile)."""
    path = path / "perf.data"
    path.write_bytes(recording(*records, **more))
    with open_recording(path) as opened:
        profile = opened.profile(by_time=True, runtime=True)
    stacks = [
        [(frame.dso, frame.runtime) for frame in one.stack if frame.runtime is not None and frame.runtime < 1 << 48]
        for one in profile.samples
    ]
    return stacks, profile


ONE = [("/bin/one", 0x400100), ("/bin/one", 0x400200)]


def test_all_samples_of_one_stay_in_the_kernel_get_the_chain(tmp_path):
    stacks, profile = unwound(
        tmp_path, *start(), sample(100, 7), sample(110, 7), RECORDS.deferred(7, [0x400100, 0x400200], 10, 10, time=120)
    )
    assert stacks == [ONE, ONE]
    assert profile.deferred == 0
    assert profile.later["merged"] == 2
    assert all(one.stop == undwarf.StopReason.NO_DUMP for one in profile.samples)


def test_the_kernel_part_stays_in_front(tmp_path):
    _stacks, profile = unwound(tmp_path, *start(), sample(100, 7), RECORDS.deferred(7, [0x400100], 10, 10, time=120))
    assert [frame.runtime for frame in profile.samples[0].stack] == [KERNEL_ADDRESS, 0x400100]


def test_threads_may_have_the_same_cookie(tmp_path):
    stacks, _profile = unwound(
        tmp_path,
        *start(11),
        sample(100, 7),
        sample(110, 7, tid=11),
        RECORDS.deferred(7, [0x400300], 10, 11, time=120),
        RECORDS.deferred(7, [0x400100], 10, 10, time=130),
    )
    assert stacks == [[("/bin/one", 0x400100)], [("/bin/one", 0x400300)]]


def test_of_two_chains_the_first_is_taken(tmp_path):
    stacks, profile = unwound(
        tmp_path,
        *start(),
        sample(100, 7),
        RECORDS.deferred(7, [0x400100], 10, 10, time=120),
        RECORDS.deferred(7, [0x400900], 10, 10, time=121),
    )
    assert stacks == [[("/bin/one", 0x400100)]]
    assert profile.later["duplicate"] == 1


def test_another_cookie_means_that_the_chain_was_lost(tmp_path):
    stacks, profile = unwound(
        tmp_path,
        *start(),
        sample(100, 7),
        RECORDS.lost(3, time=105),
        sample(110, 9),
        RECORDS.deferred(9, [0x400100], 10, 10, time=120),
        RECORDS.deferred(7, [0x400900], 10, 10, time=130),
    )
    assert stacks == [[], [("/bin/one", 0x400100)]]
    assert profile.samples[0].stop == undwarf.StopReason.DEFERRED
    assert (profile.later["superseded"], profile.later["unclaimed"], profile.deferred) == (1, 1, 1)


def test_a_cookie_is_no_address(tmp_path):
    stacks, profile = unwound(tmp_path, *start(), sample(100, 0x400555))
    assert stacks == [[]]
    assert [frame.runtime for frame in profile.samples[0].stack] == [KERNEL_ADDRESS]
    assert profile.later["open"] == 1


def test_a_thread_that_ends_first_leaves_the_kernel_part(tmp_path):
    stacks, profile = unwound(tmp_path, *start(), sample(100, 7), RECORDS.exit(10, 10, 1, 1, time=150))
    assert stacks == [[]]
    assert [frame.runtime for frame in profile.samples[0].stack] == [KERNEL_ADDRESS]
    assert profile.later["exited"] == 1


def test_an_empty_chain_is_a_chain(tmp_path):
    stacks, profile = unwound(tmp_path, *start(), sample(100, 7), RECORDS.deferred(7, [], 10, 10, time=120))
    assert stacks == [[]]
    assert [frame.runtime for frame in profile.samples[0].stack] == [KERNEL_ADDRESS]
    assert profile.later["merged"] == 1


def test_markers_of_the_users_part_are_no_addresses(tmp_path):
    marked = sample(100, 0, chain=(KERNEL, KERNEL_ADDRESS, USER, DEFERRED, 7))
    later = RECORDS.deferred(7, [USER, 0x400100, USER, 0x400200], 10, 10, time=120)
    stacks, _profile = unwound(tmp_path, *start(), marked, sample(110, 7), later)
    assert stacks == [ONE, ONE]


def test_a_chain_that_stands_before_its_sample_in_the_file(tmp_path):
    stacks, _profile = unwound(tmp_path, *start(), RECORDS.deferred(7, [0x400100], 10, 10, time=120), sample(100, 7))
    assert stacks == [[("/bin/one", 0x400100)]]


def test_addresses_mean_what_they_meant_when_the_sample_was_taken(tmp_path):
    stacks, _profile = unwound(
        tmp_path,
        *start(),
        sample(100, 7),
        RECORDS.mmap2(b"/bin/two", 10, 10, 0x400000, 0x10000, time=110),
        sample(115, 7),
        RECORDS.deferred(7, [0x400100, 0x400200], 10, 10, time=120),
    )
    two = [(name.replace("one", "two"), address) for name, address in ONE]
    assert stacks == [ONE, two]


def test_an_exec_in_between_does_not_matter(tmp_path):
    stacks, _profile = unwound(
        tmp_path,
        *start(),
        sample(100, 7),
        RECORDS.comm(b"next", 10, 10, exec_=True, time=110),
        RECORDS.mmap2(b"/bin/two", 10, 10, 0x500000, 0x10000, time=111),
        RECORDS.deferred(7, [0x400100], 10, 10, time=120),
    )
    assert stacks == [[("/bin/one", 0x400100)]]


def test_a_user_chain_in_the_sample_needs_no_later_one(tmp_path):
    inline = sample(100, 0, chain=(KERNEL, KERNEL_ADDRESS, USER, 0x400100, 0x400200))
    stacks, profile = unwound(tmp_path, *start(), inline, RECORDS.deferred(7, [0x400900], 10, 10, time=120))
    assert stacks == [ONE]
    assert profile.later["unclaimed"] == 1


@pytest.mark.parametrize("later", [False, True])
def test_a_stack_dump_is_the_fallback(tmp_path, later):
    fields = writing.FIELDS | int(SampleField.REGS_USER | SampleField.STACK_USER)
    event = writing.event(flags=EVENT.flags, ids=(1,), sample_type=fields, sample_regs_user=0x1C0, sample_stack_user=16)
    words = (2, 0, 0x7F0000, 0x400100, 16, 0x7F0010, 0x400777, 16)
    plain = sample(100, 7)
    both = record(9, plain[8:] + struct.pack("=8Q", *words), 1)
    chain = [RECORDS.deferred(7, [0x400100, 0x400200, 0x400300], 10, 10, time=120)] if later else []
    stacks, profile = unwound(tmp_path, *start(), both, *chain, event=event)
    assert profile.deferred == 0
    # There is no table for /bin/one, so that the dump shows one frame; a later chain that goes further is better.
    assert [address for _dso, address in stacks[0]] == ([0x400100, 0x400200, 0x400300] if later else [0x400100])


def test_info_tells_what_became_of_deferred_chains(tmp_path):
    from undwarf.outputs.info import InfoOptions, write
    from undwarf.views.overview import overview

    path = tmp_path / "perf.data"
    path.write_bytes(
        recording(*start(), sample(100, 7), RECORDS.deferred(7, [0x400100], 10, 10, time=120), sample(130, 9))
    )
    sink = io.StringIO()
    with open_recording(path) as opened:
        write(overview(opened, opened.profile()), sink, InfoOptions())
    assert "1  got their deferred user chain" in sink.getvalue()
    assert "1  of deferred chains were missing at the end of the recording" in sink.getvalue()


@pytest.mark.parametrize("maps_change", [False, True])
@pytest.mark.parametrize(("order", "form", "zstd"), [("<", "file", False), (">", "file", True), ("<", "pipe", True)])
def test_every_sample_of_a_machine_shows_what_it_saw(tmp_path, order, form, zstd, maps_change):
    path = tmp_path / "perf.data"
    fates = {"found": 0, "lost": 0, "left": 0, "moved": 0}
    for seed in range(6):
        world = World(seed, order, maps_change=maps_change)
        path.write_bytes(world.recording(form, zstd))
        with open_recording(path) as opened:
            profile = opened.profile(by_time=True, runtime=True)
        shown = [
            (one.time, one.tid, [("" if frame.dso == "[unknown]" else frame.dso, frame.runtime) for frame in one.stack])
            for one in profile.samples
        ]
        assert shown == sorted((one.time, one.tid, one.frames) for one in world.expected)
        assert profile.deferred == sum(not one.found for one in world.expected)
        for one in world.expected:
            fates["found" if one.found else "left" if one.left else "lost"] += 1
            fates["moved"] += one.moved and one.found
    assert all(fates[fate] for fate in ("found", "lost", "left"))
    assert (fates["moved"] > 0) == maps_change


TWO = writing.event("task-clock", (2,), flags=writing.SAMPLE_ID_ALL | writing.FREQ | 1 << 38, config=1)
"""A second event whose chains come later, too; the first one's records have them."""


def of_second(time: int, cookie: int) -> bytes:
    return bytes(sample(time, cookie)).replace(struct.pack("=Q", 1), struct.pack("=Q", 2), 1)


# Newest perf shows each of these as is stated here; where mappings change it differs (bench/deferred_agreement.py).
CASES = {
    "cookie 0": ([sample(100, 0), RECORDS.deferred(0, [0x400100], 10, 10, time=120)], [[0x400100]]),
    "the highest cookie": (
        [sample(100, 2**64 - 1), RECORDS.deferred(2**64 - 1, [0x400100], 10, 10, time=120)],
        [[0x400100]],
    ),
    "a cookie that comes again": (
        [
            sample(100, 7), RECORDS.deferred(7, [0x400100], 10, 10, time=120),
            sample(200, 7), RECORDS.deferred(7, [0x400110, 0x400120], 10, 10, time=220),
        ],
        [[0x400100], [0x400110, 0x400120]],
    ),
    "a fork in between": (
        [
            sample(100, 7), RECORDS.fork(20, 20, 10, 10, time=110), sample(112, 7, tid=20, pid=20),
            RECORDS.deferred(7, [0x400100], 10, 10, time=120), RECORDS.deferred(7, [0x400108], 20, 20, time=122),
        ],
        [[0x400100], [0x400108]],
    ),
    "the end of the thread in between": (
        [
            RECORDS.fork(10, 11, 10, 10, time=90), sample(100, 7, tid=11),
            RECORDS.exit(10, 11, 10, 10, time=110), RECORDS.deferred(7, [0x400100], 10, 11, time=120),
        ],
        [[0x400100]],
    ),
    "the next round": (
        [sample(100, 7), finished_round(), RECORDS.deferred(7, [0x400100], 10, 10, time=150), finished_round()],
        [[0x400100]],
    ),
    "another processor's records first": (
        [
            RECORDS.deferred(7, [0x400100], 10, 10, time=120), RECORDS.deferred(9, [0x400108], 10, 10, time=140),
            sample(100, 7), sample(130, 9), finished_round(),
        ],
        [[0x400100], [0x400108]],
    ),
    "the same time": ([sample(100, 7), RECORDS.deferred(7, [0x400100], 10, 10, time=100)], [[0x400100]]),
    "a sample without a kernel part": (
        [sample(100, 0, chain=(DEFERRED, 7)), RECORDS.deferred(7, [0x400100], 10, 10, time=120)],
        [[0x400100]],
    ),
    "the longest chain": (
        [sample(100, 7), RECORDS.deferred(7, [0x400100 + i for i in range(510)], 10, 10, time=120)],
        [[0x400100 + i for i in range(510)]],
    ),
}  # fmt: skip  # a table


@pytest.mark.parametrize("case", CASES)
def test_cases_that_perf_shows_alike(tmp_path, case):
    records, expected = CASES[case]
    stacks, _profile = unwound(tmp_path, *start(), *records)
    assert [[address for _file, address in stack] for stack in stacks] == expected


def test_samples_of_all_events_get_the_chain(tmp_path):
    path = tmp_path / "perf.data"
    sink = io.BytesIO()
    events = [EVENT, TWO]
    records = [*start(), sample(100, 7), of_second(101, 7), RECORDS.deferred(7, [0x400100, 0x400200], 10, 10, time=120)]
    with PerfWriter(sink, events, features=writing.features(events)) as writer:
        for one in records:
            writer.write(one)
    path.write_bytes(sink.getvalue())
    with open_recording(path) as opened:
        profile = opened.profile(runtime=True)
    assert [one.event for one in profile.samples] == [EVENT.name, TWO.name]
    assert [[frame.runtime for frame in one.stack[1:]] for one in profile.samples] == [[0x400100, 0x400200]] * 2


def test_a_chain_that_comes_behind_the_time_that_is_asked_for(tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording(*start(), sample(100, 7), RECORDS.deferred(7, [0x400100], 10, 10, time=2000)))
    with open_recording(path) as opened:
        (one,) = opened.profile(runtime=True, filters=undwarf.Filters(start=0, end=1000)).samples
    assert one.stack[-1].runtime == 0x400100
