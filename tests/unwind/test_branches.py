"""Stacks of calls that the processor kept, and the branches before samples."""

from pathlib import Path
from typing import Any

from tests.support.perfdata.build import BRANCH_STACK, CALLCHAIN, PLAIN, Attr, Build

from undwarf.api import open_recording
from undwarf.limits import DEFAULT
from undwarf.views.branch_profiles import branch_pairs, name_branch_ends

BUILD = Build()
USER, KERNEL = 2**64 - 512, 2**64 - 128
CALLS = Attr(sample_type=PLAIN | CALLCHAIN | BRANCH_STACK, branch=1 | 1 << 11 | 1 << 17)
ANY = Attr(sample_type=PLAIN | CALLCHAIN | BRANCH_STACK, branch=1 << 3)
IP = 0x400100


def profile_of(path: Path, attr: Attr, sample: bytes, **options: Any) -> Any:
    file = path / "perf.data"
    file.write_bytes(BUILD.file([attr], [BUILD.mmap2(attr, b"/bin/x", time=1), sample]))
    with open_recording(file) as recording:
        return recording.profile(runtime=True, **options)


def addresses(profile: Any) -> list[int]:
    (sample,) = profile.samples
    return [frame.runtime for frame in sample.stack]


def test_calls_of_the_processor_are_the_callers(tmp_path: Path) -> None:
    branches = ((0x400210, 0x4000F0, 0), (0x400310, 0x400200, 0))
    sample = BUILD.sample(CALLS, ip=IP, time=9, chain=(USER, IP, 0x400999), branches=branches, hw_idx=0)
    assert addresses(profile_of(tmp_path, CALLS, sample)) == [IP, 0x400210, 0x400310]


def test_the_kernels_frames_come_before_them(tmp_path: Path) -> None:
    inside = 0xFFFFFFFF81000010
    branches = ((0x400210, 0x4000F0, 0),)
    chain = (KERNEL, inside, USER, IP)
    sample = BUILD.sample(CALLS, ip=inside, time=9, chain=chain, branches=branches, hw_idx=0, misc=1)
    assert addresses(profile_of(tmp_path, CALLS, sample)) == [inside, IP, 0x400210]


def test_without_calls_the_recorded_chain_stays(tmp_path: Path) -> None:
    sample = BUILD.sample(CALLS, ip=IP, time=9, chain=(USER, IP, 0x400210), branches=(), hw_idx=0)
    assert addresses(profile_of(tmp_path, CALLS, sample)) == [IP, 0x400210]


def test_other_branches_are_no_callers_unless_asked(tmp_path: Path) -> None:
    branches = ((0x40010C, 0x400100, 0), (0x40020B, 0x4000F0, 0))
    sample = BUILD.sample(ANY, ip=IP, time=9, chain=(USER, IP, 0x400210, 0x400310), branches=branches)
    assert addresses(profile_of(tmp_path, ANY, sample)) == [IP, 0x400210, 0x400310]
    history = addresses(profile_of(tmp_path, ANY, sample, branch_history=True))
    # The call at 0x40020b is the one that returns to 0x400210.
    assert history == [IP, 0x400100, 0x40010C, 0x4000F0, 0x40020B, 0x400310]


def test_branches_are_counted_from_source_to_target(tmp_path: Path) -> None:
    branches = ((0x40010C, 0x400100, 0), (0x40010C, 0x400100, 0), (0x40020B, 0x4000F0, 0))
    sample = BUILD.sample(ANY, ip=IP, time=9, chain=(USER, IP, 0x400210), branches=branches)
    pairs = branch_pairs(profile_of(tmp_path, ANY, sample, branch_history=True))
    found = [[frame.runtime for frame in one.stack] for one in pairs.samples]
    assert found == [[0x400100, 0x40010C], [0x400100, 0x40010C], [0x4000F0, 0x40020B]]
    assert [one.period for one in pairs.samples] == [1, 1, 1]


def test_places_of_branches_without_a_name_stay_without(tmp_path: Path) -> None:
    sample = BUILD.sample(ANY, ip=IP, time=9, chain=(USER, IP), branches=((0x40010C, 0x400100, 0),))
    profile = profile_of(tmp_path, ANY, sample, branch_history=True)
    assert [frame.name for frame in name_branch_ends(profile).samples[0].stack] == ["[unknown]"] * 3


def test_branches_of_a_stack_are_limited(tmp_path: Path) -> None:
    many = tuple((0x400200 + 16 * number, 0x400100, 0) for number in range(DEFAULT.branches + 500))
    sample = BUILD.sample(CALLS, ip=IP, time=9, chain=(USER, IP), branches=many, hw_idx=0)
    assert len(addresses(profile_of(tmp_path, CALLS, sample))) == 1 + DEFAULT.branches
