"""Stacks of precise events, against chains that stepping has found.

Registers and stacks of the moment prove the test bed: the shadow stack of `bench/precise_stepper.py`, and the rules of
every instruction that was sampled. Later ones are corrected before they are unwound.
"""

import json
import platform
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import precise_truth
import pytest
from precise_recordings import EXACT_IP, KINDS

from undwarf import Provenance, StopReason
from undwarf.api import open_recording
from undwarf.perfdata import PerfData
from undwarf.unwind import lateness
from undwarf.unwind.exact_positions import REACH
from undwarf.unwind.jit_entries import Span
from undwarf.unwind.walker import Walker

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="steps x86-64 programs")
SAMPLES = 250


def stepped(
    folder: Path, source: str, variant: str, samples: int = SAMPLES, *, branches: bool = False
) -> precise_truth.Score:
    """The score of a program's recordings, which are in the folder afterwards."""
    if not shutil.which(variant.partition("-")[0]):
        pytest.skip(f"{variant.partition('-')[0]} is not installed")
    program = precise_truth.build(precise_truth.HERE / source, variant, folder)
    assert program is not None
    try:
        precise_truth.make([str(program)], folder, samples, gap=50, branches=branches)
    except PermissionError as error:
        pytest.skip(f"may not trace programs here: {error}")
    return precise_truth.score(folder, None)["undwarf"]


def outcomes(score: precise_truth.Score, kind: str) -> Counter[tuple[str, str]]:
    """(place, outcome) of a recording's samples."""
    return Counter({(place, outcome): n for (one, place, outcome), n in score.results.items() if one == kind})


def shares(found: Counter[tuple[str, str]], outcome: str, *places: str) -> float:
    """The share of the samples at some places (all, without any) that have an outcome."""
    chosen = {key: n for key, n in found.items() if not places or key[0] in places}
    return sum(n for (_place, one), n in chosen.items() if one == outcome) / sum(chosen.values())


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
    assert shares(found, "false") <= 0.002
    assert shares(found, "equal", "same frame", "callee") >= 0.998
    assert shares(found, "equal", "past return") >= 0.8
    functions = precise_truth.Functions(json.loads((tmp_path / "mappings.json").read_text()))
    truths = precise_truth.truths(tmp_path)
    past_return = marked = 0
    with open_recording(tmp_path / "late.data") as recording:
        for sample, truth in zip(recording.profile(by_time=True, inline=False).samples, truths, strict=True):
            provenances = [frame.provenance for frame in sample.stack]
            if sample.stop == StopReason.UNPROVEN_STATE:
                assert len(provenances) == 1
            elif precise_truth.place(truth, "late", functions) == "past return":
                past_return += 1
                marked += provenances[1:2] == [Provenance.INFERRED_CALLER]
            else:
                assert Provenance.INFERRED_CALLER not in provenances
    assert past_return > 15
    assert marked == past_return


@pytest.mark.parametrize(
    ("source", "variant"), [("tiny.c", "gcc-O2"), ("linked.c", "gcc-O2"), ("objects.cpp", "clang-O2")]
)
def test_stacks_up_to_twelve_instructions_late_are_corrected_or_cut(tmp_path: Path, source: str, variant: str) -> None:
    found = outcomes(stepped(tmp_path, source, variant, 1000), "skid")
    stacks = Counter({key: n for key, n in found.items() if key[0] != "kernel"})
    assert shares(stacks, "false") <= 0.04
    assert shares(stacks, "equal", "same frame") >= 0.97
    assert shares(stacks, "equal", "past return") >= 0.6


def test_how_late_states_are_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stepped(tmp_path, "tiny.c", "gcc-O2", 1000)
    found = {}
    original = lateness.reach_of

    def reach_of(data: PerfData, spans: Sequence[Span], walker: Walker, miscs: memoryview, selected: memoryview) -> int:
        found[Path(data.path).stem] = original(data, spans, walker, miscs, selected)
        return found[Path(data.path).stem]

    monkeypatch.setattr(lateness, "reach_of", reach_of)
    for kind in ("late", "skid"):
        with open_recording(tmp_path / f"{kind}.data") as recording:
            recording.profile(names=False)
    assert found == {"late": 1, "skid": REACH}


def test_data_addresses_of_late_registers_are_right_or_unknown(tmp_path: Path) -> None:
    stepped(tmp_path, "objects.cpp", "gcc-O2", 400)
    found = precise_truth.score_addresses(tmp_path)
    typed = found["on-time"]["computed right"]
    assert typed > 40
    for kind, least in (("on-time", 1.0), ("late", 0.7), ("skid", 0.1)):
        assert not found[kind]["computed wrong"] + found[kind]["stated wrong"] + found[kind]["stated unknown"]
        assert found[kind]["computed right"] >= least * typed
        assert found[kind]["computed right"] + found[kind]["computed unknown"] == typed
    # The registers after the instruction have lost those that it loads into.
    assert found["late"]["computed unknown"] > 0


def test_types_and_members_do_not_depend_on_how_late_registers_are(tmp_path: Path) -> None:
    stepped(tmp_path, "objects.cpp", "gcc-O2")
    answers = []
    for kind in KINDS:
        with open_recording(tmp_path / f"{kind}.data") as recording:
            data = recording.data_types()
            members = {(row.name, *key): part.counts.weight for row in data.types for key, part in row.fields.items()}
            answers.append((data.typed, data.total, members))
    assert answers[0][0] > 0
    assert all(one == answers[0] for one in answers)


def test_branches_name_the_callers_that_a_skid_has_returned_to(tmp_path: Path) -> None:
    score = stepped(tmp_path, "tiny.c", "gcc-O2", 500, branches=True)
    shares = {}
    for kind in ("late", "late-lbr", "skid", "skid-lbr", "stale-lbr"):
        found = {outcome: n for (place, outcome), n in outcomes(score, kind).items() if place == "past return"}
        assert sum(found.values()) > 15
        shares[kind] = found.get("equal", 0) / sum(found.values())
    assert shares["late-lbr"] >= 0.98
    assert shares["skid-lbr"] >= 0.93
    assert shares["skid"] < shares["skid-lbr"]
    # Branches that end before the state do no harm.
    assert shares["stale-lbr"] >= shares["skid"]
