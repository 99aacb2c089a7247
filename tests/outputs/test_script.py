"""Samples in the shape of `perf script`: expected texts are perf 7's, byte for byte."""

import io
from dataclasses import dataclass

import pytest
from tests.support.profiles import S, make_profile

from undwarf.errors import UsageError
from undwarf.outputs.script import ScriptOptions, fields_of_event, has_chain, parse_fields, write
from undwarf.perfdata import SampleField
from undwarf.profile.model import Profile
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

PLAIN = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.PERIOD


@dataclass
class Event:
    name: str = "cycles"
    type: int = 0
    sample_type: int = PLAIN | SampleField.CALLCHAIN


def script(profile: Profile, fields: str | None = None, event: Event | None = None, **options: object) -> str:
    event = event or Event()
    events = [event] * len(profile.events)
    sink = io.BytesIO()
    chosen = [fields_of_event(one, fields)[0] for one in events]
    write(profile, sink, ScriptOptions(chosen, [has_chain(one) for one in events], **options))
    return sink.getvalue().decode()


STACK = make_profile(
    [S("_start@app+1f main@app work@libc+0", period=1001001, pid=13810, tid=13811, time=1123272312999)]
)


def test_the_default_shape() -> None:
    assert script(STACK) == (
        "app   13811  1123.272312:    1001001 cycles: \n"
        "\t    7f0000003000 work+0x0 (/lib/libc.so.6)\n"
        "\t    7f0000002010 main+0x10 (/opt/app/bin/app)\n"
        "\t    7f000000101f _start+0x1f (/opt/app/bin/app)\n"
        "\n"
    )


def test_pid_and_tid() -> None:
    assert script(STACK, "pid,tid,comm,ip").splitlines()[0] == "app   13810/13811   "


def test_pid_alone() -> None:
    assert script(STACK, "comm,pid,ip").splitlines()[0] == "app   13810 "


def test_the_cpu_is_shown_where_it_was_recorded() -> None:
    event = Event(sample_type=PLAIN | SampleField.CALLCHAIN | SampleField.CPU)
    profile = make_profile([S("f@app", cpu=7)])
    assert script(profile, event=event).startswith("app     100 [007]     1.000000:          1 cycles: \n")


def test_nanoseconds() -> None:
    assert "  1123.272312999: " in script(STACK, "-period", nanoseconds=True)


def test_names_of_events_are_filled_to_the_longest() -> None:
    profile = make_profile([S("f@app", event=1)], ("page-faults", "cycles"))
    assert script(profile, "event,ip").startswith("     cycles: \n")


def test_without_frames_comms_are_filled_to_16_columns() -> None:
    assert script(STACK, "-ip,-sym,-symoff,-dso") == "             app   13811  1123.272312:    1001001 cycles: \n"


def test_an_event_without_chains_has_its_frame_on_the_same_line() -> None:
    profile = make_profile([S("work@libc+3")])
    line = "             app     100     1.000000:          1 cycles:      7f0000001003 work+0x3 (/lib/libc.so.6)\n"
    assert script(profile, event=Event(sample_type=PLAIN)) == line


def test_a_sample_with_chains_but_no_frame_ends_with_a_blank_line() -> None:
    assert script(make_profile([S("")])) == "app     100     1.000000:          1 cycles: \n\n"


def test_addresses_alone() -> None:
    assert script(STACK, "comm,ip") == "app \n\t    7f0000003000\n\t    7f0000002010\n\t    7f000000101f\n\n"


def test_the_data_address_stands_before_the_frames() -> None:
    event = Event(sample_type=PLAIN | SampleField.CALLCHAIN | SampleField.ADDR)
    profile = make_profile([S("f@app", addr=0x7FFC134ACF10)])
    assert script(profile, "event,addr,ip", event).splitlines()[0] == "cycles:     7ffc134acf10"


def test_without_line_information_srcline_is_the_file_and_address() -> None:
    assert script(STACK, "ip,sym,srcline").splitlines()[1:3] == ["\t    7f0000003000 work", "  libc.so.6[3000]"]


def test_an_entry_of_a_recorded_chain_has_the_offset_of_what_is_printed() -> None:
    profile = make_profile([S("f@app+f")], recorded=True)
    assert script(profile).splitlines()[1] == "\t    7f0000001010 f+0x10 (/opt/app/bin/app)"


def test_unknown_functions_and_files() -> None:
    lines = script(make_profile([S("?@ ?@libc")])).splitlines()
    assert lines[1] == "\t    7f0000002010 [unknown] (/lib/libc.so.6)"
    assert lines[2] == "\t    7f0000001010 [unknown] ([unknown])"


def test_kernel_and_modules_are_named_as_perf_names_them() -> None:
    lines = script(make_profile([S("f@kernel g@module")])).splitlines()
    assert [line.rpartition(" ")[2] for line in lines[1:3]] == ["([xfs])", "([kernel.kallsyms])"]


def test_code_made_at_run_time_is_that_of_its_process() -> None:
    """As perf, which names such mappings by the map that a runtime may write."""
    text = script(
        make_profile([S("f@app ?@anon", pid=7), S("f@app ?@anon", pid=8), S("f@app ?@anon", pid=7)]), "ip,dso"
    )
    made = [line.rpartition(" ")[2] for line in text.splitlines() if "perf-" in line]
    assert made == ["(/tmp/perf-7.map)", "(/tmp/perf-8.map)", "(/tmp/perf-7.map)"]


def test_a_thread_without_a_name_is_its_number() -> None:
    assert script(make_profile([S("f@app", comm=None, tid=42)]), "comm,ip").startswith(":42 \n")


def test_a_negative_process_number() -> None:
    assert script(make_profile([S("f@app", pid=-1, tid=-1)]), "pid,tid,ip").startswith("     -1/-1      \n")


def test_names_cannot_drive_the_terminal() -> None:
    text = script(make_profile([S("f\x1b[2J@app", comm="\x1b]0;owned\x07")], ("a\nb",)))
    assert "\x1b" not in text
    assert text.startswith("\\x1b]0;owned\\x07 ")
    assert "a\\x0ab: \n" in text


def test_max_stack_keeps_the_innermost_frames() -> None:
    assert script(STACK, "ip,sym", max_stack=1) == "\n\t    7f0000003000 work\n\n"


@pytest.mark.parametrize(
    ("stop", "lines"), [(StopReason.ROOT, 0), (StopReason.FIBER_ROOT, 0), (StopReason.SIGNAL_STACK, 1)]
)
def test_whole_stacks_have_no_reason_to_end(stop: StopReason, lines: int) -> None:
    shown = script(make_profile([S("main@app", stop=stop)]), "ip,sym", why=True)
    assert (shown.count("main"), shown.count("\t# ")) == (1, lines)


def test_why_a_stack_ends() -> None:
    profile = make_profile([S("f@app", stop=StopReason.NO_RULE, stop_image="libc"), S("f@app")])
    assert script(profile, "ip,sym", why=True) == (
        "\n\t    7f0000001010 f\n\t# no unwind rule for the address (/lib/libc.so.6)\n\n\n\t    7f0000001010 f\n\n"
    )


def test_why_marks_frames_of_another_dump() -> None:
    profile = make_profile([S("main@app f@app", stop=StopReason.INFERRED_ROOT, stop_image="app")])
    profile.frames.provenance = memoryview(bytes([Provenance.OTHER_DUMP, Provenance.EH_FRAME]))
    shown = script(profile, "ip,sym", why=True).splitlines()
    assert shown[1:3] == ["\t    7f0000002010 f", "\t    7f0000001010 main # inferred"]
    assert shown[3].startswith("\t# the stack dump ended; outer callers are inferred")


def test_why_marks_the_inferred_caller_of_a_precise_sample() -> None:
    profile = make_profile([S("main@app f@app")])
    profile.frames.provenance = memoryview(bytes([Provenance.INFERRED_CALLER, Provenance.EH_FRAME]))
    shown = script(profile, "ip,sym", why=True).splitlines()
    assert shown[1:3] == ["\t    7f0000002010 f", "\t    7f0000001010 main # inferred"]


def test_why_marks_frames_in_copied_code() -> None:
    profile = make_profile([S("main@app f@app")])
    profile.frames.provenance = memoryview(bytes([Provenance.MOVED_CODE, Provenance.EH_FRAME]))
    assert script(profile, "ip,sym", why=True).splitlines()[1:3] == [
        "\t    7f0000002010 f",
        "\t    7f0000001010 main # copied code",
    ]
    assert "#" not in script(profile, "ip,sym")


def test_more_text_than_one_buffer_is_complete() -> None:
    profile = make_profile([S("a@app b@app c@app", time=n * 1000) for n in range(5000)])
    lines = script(profile).splitlines()
    assert len(lines) == 5 * 5000
    assert len(set(lines[::5])) == 5000


def test_events_may_show_different_fields() -> None:
    profile = make_profile([S("f@app"), S("f@app", event=1), S("f@app")], ("cycles", "faults"))
    sink = io.BytesIO()
    write(profile, sink, ScriptOptions([frozenset({"ip"}), frozenset({"ip", "sym"})], [True, True]))
    assert sink.getvalue().decode().split("\n")[1::3] == [
        "\t    7f0000001010",
        "\t    7f0000001010 f",
        "\t    7f0000001010",
    ]


def test_fields_are_added_and_taken_away() -> None:
    shown, _absent = fields_of_event(Event(), "+pid,-period")
    assert {"pid", "tid"} < shown
    assert "period" not in shown


def test_a_field_that_was_not_recorded_is_told() -> None:
    shown, absent = fields_of_event(Event(), "comm,cpu")
    assert (shown, absent) == ({"comm"}, {"cpu"})


def test_the_default_leaves_out_what_was_not_recorded() -> None:
    assert fields_of_event(Event(sample_type=int(SampleField.IP)), None)[1] == set()


def test_tracepoints_show_no_period_unless_asked() -> None:
    assert "period" not in fields_of_event(Event(type=2), None)[0]
    assert "period" in fields_of_event(Event(type=2), "+period")[0]


@pytest.mark.parametrize("text", ["nonsense", "comm,+ip", "+nonsense"])
def test_fields_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fields(text)
