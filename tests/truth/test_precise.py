"""Stacks of precise events, against chains that stepping has found.

Registers and stacks of the moment prove the test bed: the shadow stack of `bench/precise_stepper.py`, and the rules of
every instruction that was sampled. Later ones are corrected before they are unwound.
"""

import json
import platform
import shutil
from collections import Counter
from pathlib import Path

import precise_truth
import pytest
from precise_recordings import EXACT_IP, KINDS

from undwarf import Provenance, StopReason
from undwarf.api import open_recording

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="steps x86-64 programs")
SAMPLES = 250


def stepped(folder: Path, source: str, variant: str, samples: int = SAMPLES) -> precise_truth.Score:
    """The score of a program's recordings, which are in the folder afterwards."""
    if not shutil.which(variant.partition("-")[0]):
        pytest.skip(f"{variant.partition('-')[0]} is not installed")
    program = precise_truth.build(precise_truth.HERE / source, variant, folder)
    assert program is not None
    try:
        precise_truth.make([str(program)], folder, samples, gap=50)
    except PermissionError as error:
        pytest.skip(f"may not trace programs here: {error}")
    return precise_truth.score(folder, None)["undwarf"]


def outcomes(score: precise_truth.Score, kind: str) -> Counter[tuple[str, str]]:
    """(place, outcome) of a recording's samples."""
    return Counter({(place, outcome): n for (one, place, outcome), n in score.results.items() if one == kind})


@pytest.mark.parametrize("variant", ["gcc-O2", "clang-O0"])
def test_stacks_of_the_moment_are_the_true_ones_at_every_instruction(tmp_path: Path, variant: str) -> None:
    score = stepped(tmp_path, "tiny.c", variant)
    assert outcomes(score, "on-time") == {("same frame", "equal"): SAMPLES}
    assert outcomes(score, "on-time") == {("same frame", "equal"): SAMPLES}
    assert not score.missing


def test_stacks_through_signal_handlers_and_past_longjmp_are_the_true_ones(tmp_path: Path) -> None:
    score = stepped(tmp_path, "handlers.c", "gcc-O2")
    found = outcomes(score, "on-time")
    assert found.keys() == {("same frame", "equal")}
    assert found.total() + score.ambiguous // len(KINDS) == SAMPLES
    assert found.total() > 0.9 * SAMPLES
    on_other_stacks = [one for one in precise_truth.truths(tmp_path) if one.reachable < len(one.chain)]
    assert len(on_other_stacks) > SAMPLES / 20


def test_an_interrupt_in_a_system_call_leaves_no_stack(tmp_path: Path) -> None:
    score = stepped(tmp_path, "linked.c", "gcc-O2")
    assert outcomes(score, "on-time") == {("same frame", "equal"): SAMPLES}
    assert outcomes(score, "on-time") == {("same frame", "equal"): SAMPLES}
    in_kernel = {outcome: n for (place, outcome), n in outcomes(score, "skid").items() if place == "kernel"}
    assert in_kernel.keys() == {"cut"}
    assert not any(place == "kernel" for place, _outcome in outcomes(score, "late"))


def test_late_registers_are_of_the_frame_its_callees_and_its_callers(tmp_path: Path) -> None:
    score = stepped(tmp_path, "tiny.c", "gcc-O2")
    for kind, most in (("late", 0.99), ("skid", 0.9)):
        found = Counter[str]()
        for (place, _outcome), count in outcomes(score, kind).items():
            found[place] += count
        assert found.total() == SAMPLES
        assert all(found[place] for place in ("same frame", "callee", "past return"))
        assert found["same frame"] < most * SAMPLES
    truths = precise_truth.truths(tmp_path)
    for kind in KINDS:
        with open_recording(tmp_path / f"{kind}.data") as recording:
            samples = recording.records.samples
            assert list(samples.ip) == [one.chain[0] for one in truths]
            assert all(bool(misc & EXACT_IP) == (kind != "on-time") for misc in samples.misc)


def test_stacks_one_instruction_late_are_corrected(tmp_path: Path) -> None:
    score = stepped(tmp_path, "tiny.c", "gcc-O2", 1000)
    found = outcomes(score, "late")
    assert sum(n for (_place, outcome), n in found.items() if outcome == "false") <= 0.005 * 1000
    in_frame = {outcome: n for (place, outcome), n in found.items() if place == "same frame"}
    assert in_frame["equal"] >= 0.99 * sum(in_frame.values())
    functions = precise_truth.Functions(json.loads((tmp_path / "mappings.json").read_text()))
    truths = precise_truth.truths(tmp_path)
    past_return = marked = unproven = 0
    with open_recording(tmp_path / "late.data") as recording:
        for sample, truth in zip(recording.profile(by_time=True, inline=False).samples, truths, strict=True):
            provenances = [frame.provenance for frame in sample.stack]
            if sample.stop == StopReason.UNPROVEN_STATE:
                unproven += 1
                assert len(provenances) == 1
            elif precise_truth.place(truth, "late", functions) == "past return":
                past_return += 1
                marked += provenances[1:2] == [Provenance.INFERRED_CALLER]
            else:
                assert Provenance.INFERRED_CALLER not in provenances
    assert unproven
    assert past_return
    assert marked == past_return
