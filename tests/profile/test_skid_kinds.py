"""Frames whose samples have several kinds of skid are split, in a new profile."""

from tests.support.profiles import S, make_profile

from undwarf.profile.skid_kinds import StopKind, split_by_kind


def test_a_frame_of_two_kinds_is_copied_in_a_new_profile() -> None:
    samples = [S("main@app f@app"), S("main@app f@app", event=1), S("main@app g@app", event=1)]
    profile = make_profile(samples, ("mem:0x1000:w", "cycles"))
    stacks, frames = profile.samples.stack.tolist(), len(profile.frames)
    split, kinds, copied = split_by_kind(profile, frozenset({0}), frozenset())
    assert (profile.samples.stack.tolist(), len(profile.frames)) == (stacks, frames)
    assert len(split.frames) == len(kinds) == frames + 1
    assert [profile.functions.name[profile.frames.function[frame]] for frame in copied] == ["f"]
    leaves = [split.stacks.frame[node] for node in split.samples.stack]
    assert [kinds[leaf] for leaf in leaves] == [StopKind.AFTER, StopKind.LATE, StopKind.LATE]
    assert [frame.name for frame in split.samples[1].stack] == ["f", "main"]


def test_a_profile_of_one_kind_is_taken_as_it_is() -> None:
    profile = make_profile([S("main@app f@app")], ("cycles",))
    assert split_by_kind(profile, frozenset(), frozenset({0})) == (
        profile,
        bytes([StopKind.AT]) * len(profile.frames),
        [],
    )
