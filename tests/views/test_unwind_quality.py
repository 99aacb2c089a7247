"""How whole the stacks are."""

import pytest
from tests.support.profiles import IMAGES, S, make_profile

from undwarf.profile.model import ImageInfo
from undwarf.profile.rows import Rows
from undwarf.profile.tables import events_table
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.unwind_quality import LARGEST_DUMP, advice, larger_dump, missing, unwind_quality

R = StopReason


def test_only_samples_with_a_user_part_to_unwind_count() -> None:
    stops = [R.ROOT, R.ROOT, R.ROOT, R.TRUNCATED, R.NONE, R.NO_DUMP]
    whole = unwind_quality(make_profile([S("f@app", stop=stop) for stop in stops]))
    assert (whole.samples, whole.unwound, whole.whole, whole.without_user, whole.as_recorded) == (6, 4, 3, 1, 1)
    assert whole.share == 0.75


def test_stacks_with_inferred_callers_are_counted_apart() -> None:
    whole = unwind_quality(make_profile([S("f@app", stop=stop) for stop in (R.ROOT, R.INFERRED_ROOT, R.INFERRED_ROOT)]))
    assert (whole.unwound, whole.whole, whole.inferred, whole.gaps) == (3, 1, 2, [])


def test_samples_with_a_frame_in_copied_code_are_counted() -> None:
    profile = make_profile([S("main@app f@app"), S("main@app g@app"), S("h@app")])
    profile.frames.provenance = memoryview(bytes([Provenance.MOVED_CODE] + [Provenance.EH_FRAME] * 3))
    assert unwind_quality(profile).copied_code == 2


def test_samples_of_events_without_chains_have_none_by_frame_pointers() -> None:
    profile = make_profile([S("f@app", stop=R.NO_DUMP), S("f@app", stop=R.NO_DUMP), S("f@kernel", stop=R.NONE)])
    profile.events = Rows([profile.events[0]._replace(chains=False)], events_table)
    whole = unwind_quality(profile)
    assert (whole.without_chain, whole.as_recorded, whole.without_user, whole.unwound) == (2, 0, 1, 0)


def test_roots_of_other_stacks_are_whole_with_reasons_of_their_own() -> None:
    stops = [R.ROOT, R.FIBER_ROOT, R.SIGNAL_STACK, R.SIGNAL_STACK, R.OTHER_STACK]
    whole = unwind_quality(make_profile([S("f@app", stop=stop) for stop in stops]))
    assert (whole.whole, [gap.reason for gap in whole.gaps]) == (4, ["other_stack"])
    assert (whole.reasons["fiber_root"], whole.reasons["signal_stack"]) == (1, 2)


def test_without_user_stacks_all_are_whole() -> None:
    assert unwind_quality(make_profile([S("f@kernel", stop=R.NONE)])).share == 1.0


def test_gaps_by_reason_and_image_with_the_largest_first() -> None:
    samples = [S("f@app", stop=R.NO_RULE, stop_image="libc")] * 2 + [S("f@app", stop=R.TRUNCATED, stop_image="app")] * 3
    found = unwind_quality(make_profile([*samples, S("f@app", stop=R.NO_RULE, stop_image="app")])).gaps
    assert [(gap.reason, gap.image, gap.samples) for gap in found] == [
        ("truncated", "/opt/app/bin/app", 3),
        ("no_rule", "/lib/libc.so.6", 2),
        ("no_rule", "/opt/app/bin/app", 1),
    ]


def test_every_sample_has_a_reason() -> None:
    whole = unwind_quality(make_profile([S("f@app", stop=stop) for stop in StopReason]))
    assert sum(whole.reasons.values()) == whole.samples == len(StopReason)


@pytest.mark.parametrize(("dump", "larger"), [(0, 16384), (8192, 16384), (16384, 32768), (40000, 65528), (65528, 0)])
def test_the_next_dump_to_try(dump: int, larger: int) -> None:
    assert larger_dump(dump) == larger


def test_a_truncated_stack_wants_a_larger_dump() -> None:
    assert "--call-graph dwarf,16384" in advice(R.TRUNCATED, None, 8192)


@pytest.mark.parametrize(("stitched", "mode"), [(True, ""), (False, "--unwind dump ")])
def test_a_larger_dump_is_asked_for_as_it_was_recorded(stitched: bool, mode: str) -> None:
    said = advice(R.TRUNCATED, None, 8192, stitched=stitched, recorder="undwarf")
    assert said == f"record with a larger stack dump: undwarf record {mode}--stack-size 16384"


@pytest.mark.parametrize(("dump", "said"), [(16384, "--call-graph dwarf,32768"), (32768, "undwarf record")])
def test_haskell_code_wants_a_dump_that_reaches_its_scheduler(dump: int, said: str) -> None:
    assert said in advice(R.HASKELL_STACK, None, dump)


def test_no_larger_dump_is_advised_than_perf_takes() -> None:
    assert "dwarf," in advice(R.TRUNCATED, None, LARGEST_DUMP // 2)
    assert "dwarf," not in advice(R.TRUNCATED, None, LARGEST_DUMP)


def test_a_missing_file_is_wanted_by_its_build_id() -> None:
    assert "cc" * 20 in advice(R.NO_FILE, IMAGES["gone"], 8192)


def gap(*files: str, kind: str = "anon", dump: str = "") -> str:
    """The advice where stacks end in code made at run time, in a recording that has these files."""
    images = [ImageInfo(name, name, "", "file") for name in files]
    images += [ImageInfo(dump, dump, "", "jitdump", "No such file or directory")] if dump else []
    return advice(R.NO_RULE, ImageInfo("//anon", "//anon", "", kind), 8192, images=images)


@pytest.mark.parametrize("kind", ["anon", "jit", "jitdump"])
@pytest.mark.parametrize(
    ("file", "option"),
    [
        ("/usr/lib/jvm/lib/server/libjvm.so", "-XX:+PreserveFramePointer"),
        ("/usr/bin/python3.13", "-X perf_jit (3.13) under perf record -k mono"),
        ("/usr/lib/libpython3.12.so.1.0 (deleted)", "-X perf (3.12)"),
        ("/opt/node/bin/node", "--perf-prof-unwinding-info under perf record -k mono"),
    ],
)
def test_what_lets_stacks_go_through_a_runtime_s_code(file: str, option: str, kind: str) -> None:
    assert option in gap("/bin/sh", file, kind=kind)
    assert option not in gap("/bin/sh", file + ".txt", kind=kind)


def test_code_of_an_unknown_runtime_wants_frame_pointers_or_a_dump() -> None:
    assert "frame pointers" in gap("/bin/vm")
    assert "jitdump" in gap("/bin/vm")


def test_code_whose_frame_pointers_are_followed_is_not_to_keep_them() -> None:
    samples = [S("main@app f@anon g@app", stop=R.ROOT), S("f@anon", stop=R.NO_RULE, stop_image="anon")]
    profile = make_profile(samples)
    profile.frames.provenance[1] = Provenance.FRAME_POINTER
    found = unwind_quality(profile)
    assert [gap.advice.partition(",")[0] for gap in found.gaps] == ["its frame pointers are followed"]


def test_code_from_which_no_stack_goes_on_is_to_keep_frame_pointers() -> None:
    (found,) = unwind_quality(make_profile([S("f@anon", stop=R.NO_RULE, stop_image="anon")])).gaps
    assert "let the runtime keep frame pointers" in found.advice


def test_a_jitdump_that_is_not_here_is_what_is_wanted() -> None:
    assert gap("/usr/bin/python3.13", dump="/tmp/jit-7.dump").startswith("provide the jitdump")


def test_code_that_a_dump_has_wants_no_other_dump() -> None:
    assert "PreserveFramePointer" in gap("/usr/lib/libjvm.so", kind="jitdump", dump="/tmp/jit-7.dump")


def test_missing_files_by_the_samples_that_pass_through_them() -> None:
    samples = [S("main@app f@gone leaf@libc"), S("main@app f@gone f@gone"), S("main@app")]
    (found,) = missing(make_profile(samples))
    assert (found.name, found.build_id, found.problem, found.samples) == ("/opt/gone.so", "cc" * 20, "missing", 2)


def test_frames_without_an_image_do_not_hide_missing_files() -> None:
    (found,) = missing(make_profile([S("?@ f@gone")]))
    assert found.samples == 1


def test_nothing_is_missing() -> None:
    assert missing(make_profile([S("main@app")])) == []


def test_without_dumps_nobody_is_advised_to_record_larger_ones() -> None:
    assert advice(R.TRUNCATED, None, 8192) != ""
    assert advice(R.TRUNCATED, None, 0) == ""


@pytest.mark.parametrize(
    ("recorder", "option"), [("perf", "perf record --call-graph fp"), ("undwarf", "undwarf record --unwind fp")]
)
def test_frame_pointers_reach_a_stack_that_no_dump_has(recorder: str, option: str) -> None:
    assert advice(R.OTHER_STACK, IMAGES["app"], 8192, recorder=recorder).endswith(option)
    assert advice(R.OTHER_STACK, IMAGES["app"], 0, recorder=recorder) == ""


@pytest.mark.parametrize(
    ("order", "option"),
    [((), "-fasynchronous-unwind-tables"), (("sframe",), "-Wa,--gsframe"), (("fp",), "leave out --unwind")],
)
def test_advice_is_about_the_unwind_information_that_was_asked_for(order: tuple[str, ...], option: str) -> None:
    assert option in advice(R.NO_RULE, IMAGES["app"], 8192, order)


def test_of_stacks_as_recorded_advice_is_to_record_again() -> None:
    assert "record again" in advice(R.NO_FILE, IMAGES["gone"], 0, stitched=True)
    assert "record again" in advice(R.NO_RULE, IMAGES["app"], 0, ("sframe",), stitched=True)


@pytest.mark.parametrize(("stitched", "words"), [(False, "no larger dump helps"), (True, "")])
def test_no_larger_dump_is_advised_for_a_page_not_in_memory(stitched: bool, words: str) -> None:
    said = advice(R.ABSENT_PAGE, None, 8192, stitched=stitched)
    assert said.startswith(words) and bool(said) == bool(words)


def test_assembly_without_rules_is_advised_to_have_directives() -> None:
    assert ".cfi" in advice(R.NO_RULE, ImageInfo("/bin/app", "file", "", ""), 8192)
