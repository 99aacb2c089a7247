"""Code of jitdump files in a recording: each sample finds what was at its address then."""

from pathlib import Path

import pytest
from tests.support.jitdump_builder import Dump
from tests.support.perfdata.build import PLAIN, Attr, Build

import undwarf
from undwarf.profile.jit import Cover

USE_CLOCK = 1 << 25
PID = 7
BASE = 0x7000_0000


def names(
    tmp_path: Path,
    dump: Dump,
    samples: list[tuple[int, int]],
    *extra: tuple[int, int, int, int],
    marked: int = 900,
    mono: bool = True,
    pid: int = PID,
) -> list[str]:
    """The name at each (time, address); ``extra`` are anonymous mappings (time, start, size, protection)."""
    path = tmp_path / f"jit-{PID}.dump"
    path.write_bytes(dump.build())
    build = Build()
    attr = Attr(sample_type=PLAIN, ids=[1])
    if mono:
        attr.flags |= USE_CLOCK
        attr.clockid = 1
    data = [build.comm(attr, b"vm", pid=pid, tid=pid, time=1)]
    data.append(build.mmap2(attr, str(path).encode(), pid=pid, start=0x1000, length=0x1000, time=marked))
    for time, start, size, protection in extra:
        data.append(build.mmap2(attr, b"//anon", pid=pid, start=start, length=size, time=time, prot=protection))
    data += [build.sample(attr, ip=address, time=time, pid=pid, tid=pid) for time, address in samples]
    (tmp_path / "perf.data").write_bytes(build.file([attr], data))
    with undwarf.open(tmp_path / "perf.data") as recording:
        return [sample.stack[0].name if sample.stack else "" for sample in recording.profile().samples]


def test_code_is_that_of_the_samples_time(tmp_path: Path) -> None:
    dump = Dump().load(BASE, b"old", 1, time=1000).load(BASE, b"new", 2, time=3000)
    assert names(tmp_path, dump, [(1500, BASE), (2999, BASE + 31), (3001, BASE)]) == ["old", "old", "new"]


def test_before_it_was_made_there_is_none(tmp_path: Path) -> None:
    dump = Dump().load(BASE, b"f", time=2000)
    assert names(tmp_path, dump, [(1500, BASE), (2500, BASE), (2500, BASE + 32)]) == ["[unknown]", "f", "[unknown]"]


def test_moved_code(tmp_path: Path) -> None:
    dump = Dump().load(BASE, b"f", 1, time=1000).move(BASE, BASE + 0x100, 1, time=2000)
    samples = [(1500, BASE), (1500, BASE + 0x100), (2500, BASE), (2500, BASE + 0x100)]
    assert names(tmp_path, dump, samples) == ["f", "[unknown]", "[unknown]", "f"]


def test_a_smaller_piece_leaves_the_rest_of_the_old_code(tmp_path: Path) -> None:
    dump = Dump().load(BASE, b"old", 1, b"\x90" * 64, 1000).load(BASE + 16, b"new", 2, b"\x90" * 16, 2000)
    samples = [(2500, BASE + at) for at in (0, 15, 16, 31, 32, 63, 64)]
    assert names(tmp_path, dump, samples) == ["old", "old", "new", "new", "old", "old", "[unknown]"]


@pytest.mark.parametrize("protection", [3, 5, 7, 0])
def test_a_change_of_protection_does_not_end_code(tmp_path: Path, protection: int) -> None:
    dump = Dump().load(BASE, b"f", time=1000).load(BASE + 64, b"g", time=3000)
    change = (2000, BASE - 0x1000, 0x3000, protection)
    assert names(tmp_path, dump, [(2500, BASE), (3500, BASE + 64)], (500, BASE - 0x1000, 0x3000, 7), change) == [
        "f",
        "g",
    ]


def test_without_the_same_clock_the_marker_tells_the_difference(tmp_path: Path) -> None:
    # The recording's clock is 10,000 ahead: the dump was created at 1000, and mapped at 11,000.
    dump = Dump(created=1000).load(BASE, b"old", 1, time=1100).load(BASE, b"new", 2, time=3000)
    samples = [(11_500, BASE), (12_900, BASE), (13_100, BASE)]
    assert names(tmp_path, dump, samples, marked=11_000, mono=False) == ["old", "old", "new"]


def test_a_header_with_another_clock_is_not_used_for_that(tmp_path: Path) -> None:
    dump = Dump(created=1_700_000_000_000_000_000).load(BASE, b"old", 1, time=1100).load(BASE, b"new", 2, time=3000)
    samples = [(11_500, BASE), (13_100, BASE)]
    assert names(tmp_path, dump, samples, marked=11_000, mono=False) == ["old", "new"]


def test_ticks_of_a_processor_are_no_times_and_the_last_code_wins(tmp_path: Path) -> None:
    dump = Dump(flags=1).load(BASE, b"old", 1, time=1).load(BASE, b"new", 2, time=1 << 60)
    assert names(tmp_path, dump, [(1500, BASE)]) == ["new"]


def test_a_later_program_of_the_process_is_free_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / f"jit-{PID}.dump"
    path.write_bytes(Dump().load(BASE, b"f", time=1000).build())
    build = Build()
    attr = Attr(sample_type=PLAIN, ids=[1], flags=Attr().flags | USE_CLOCK, clockid=1)
    (tmp_path / "perf.data").write_bytes(
        build.file(
            [attr],
            [
                build.mmap2(attr, str(path).encode(), pid=PID, start=0x1000, length=0x1000, time=900),
                build.mmap2(attr, b"/nowhere/lib.so", pid=PID, start=BASE, length=0x1000, time=2000),
                build.sample(attr, ip=BASE, time=2500, pid=PID, tid=PID),
            ],
        )
    )
    with undwarf.open(tmp_path / "perf.data") as recording:
        assert recording.profile().samples[0].stack[0].dso == "/nowhere/lib.so"


def test_cover_as_a_plain_set_has_it() -> None:
    import random

    draw = random.Random(3)
    cover, plain = Cover(), set[int]()
    for _ in range(600):
        start, size = draw.randrange(200), draw.randrange(1, 30)
        if draw.random() < 0.6:
            cover.add(start, start + size)
            plain.update(range(start, start + size))
        else:
            cover.remove(start, start + size)
            plain.difference_update(range(start, start + size))
        low, high = sorted((draw.randrange(240), draw.randrange(240)))
        missing = {at for one, end in cover.missing(low, high) for at in range(one, end)}
        assert missing == set(range(low, high)) - plain
