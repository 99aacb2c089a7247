"""What a recording holds, as people see it."""

import io
import json
from collections.abc import Callable
from typing import Any

from undwarf.defects import Defect
from undwarf.outputs import info_json
from undwarf.outputs.info import InfoOptions, write
from undwarf.views.unwind_quality import Gap, Missing, UnwindQuality

GAP = Gap(
    reason="truncated",
    description="the stack dump ended",
    image="/opt/app",
    build_id="aa",
    samples=40,
    advice="record with a larger stack dump: perf record --call-graph dwarf,16384",
)
FOUND: dict[str, Any] = {
    "file": "perf.data",
    "form": "file",
    "byte_order": "little",
    "header": {
        "hostname": "box",
        "osrelease": "6.1.0",
        "version": "6.1.187",
        "arch": "x86_64",
        "nrcpus": [2, 2],
        "cpudesc": "Some CPU",
        "cmdline": ["perf", "record", "--call-graph", "dwarf"],
    },
    "first_sample": 1_000_000_000,
    "last_sample": 13_500_000_000,
    "samples": 1050,
    "events": [
        {"name": "cycles:P", "samples": 1000, "frequency": 4000, "stack_dump": 8192},
        {"name": "page-faults", "samples": 50, "period": 1, "stack_dump": 0},
    ],
    "records": {"SAMPLE": 1050, "MMAP2": 70, "type 99": 1},
    "lost": 7,
    "deferred_not_merged": 0,
    "deferred": {},
    "notes": [],
    "precise": {},
    "processes": [{"pid": pid, "comm": "app" if pid else None, "samples": 100 - pid} for pid in range(15)],
    "wholeness": UnwindQuality(
        samples=1050,
        unwound=1000,
        whole=950,
        without_user=30,
        as_recorded=20,
        without_chain=0,
        reasons={"root": 950, "truncated": 50},
        gaps=[GAP, GAP._replace(image="[unknown]", samples=10)],
    ),
    "missing": [Missing("/opt/gone.so", "cc", "file", "no such file", 12)],
    "defects": [Defect("record cut short", "perf.data", 2, "at 0x100")],
}


def text(found: dict[str, Any] = FOUND, **options: Any) -> str:
    sink = io.StringIO()
    write(found, sink, InfoOptions(**options))
    return sink.getvalue()


def test_info(snapshot: Callable[[str], None]) -> None:
    snapshot(text())


def test_advice_is_given_once() -> None:
    assert text().count("dwarf,16384") == 1


def test_stacks_with_inferred_callers_are_counted_apart() -> None:
    found = {**FOUND, "wholeness": FOUND["wholeness"]._replace(inferred=7)}
    assert "7  more reach it with callers inferred from other dumps or memory of their thread\n" in text(found)
    assert "inferred" not in text()


def test_info_counts_samples_in_copied_code() -> None:
    found = {**FOUND, "wholeness": FOUND["wholeness"]._replace(copied_code=9)}
    assert "9  pass through code copied to memory without a file" in text(found)
    assert "copied" not in text()


def test_long_lists_say_how_much_is_left_out() -> None:
    assert "and 3 more processes" in text()


def test_json_has_null_for_what_is_unknown() -> None:
    sink = io.StringIO()
    info_json.write({**FOUND, "first_sample": None, "last_sample": None}, sink)
    found = json.loads(sink.getvalue())
    assert (found["start_ns"], found["duration_ns"], found["processes"][0]["comm"]) == (None, None, None)
    assert [gap["dso"] for gap in found["wholeness"]["gaps"]] == ["/opt/app", None]
    assert [(event["frequency_hz"], event["stack_dump_bytes"]) for event in found["events"]] == [
        (4000, 8192),
        (None, None),
    ]


def test_names_cannot_drive_the_terminal() -> None:
    hostile = "\x1b[2J"
    found = {
        **FOUND,
        "file": hostile,
        "header": {**FOUND["header"], "hostname": hostile, "cmdline": [hostile]},
        "events": [{**FOUND["events"][0], "name": hostile}],
        "processes": [{"pid": 1, "comm": hostile, "samples": 1}],
        "missing": [FOUND["missing"][0]._replace(name=hostile, problem=hostile)],
        "defects": [Defect(hostile, hostile, 1, hostile)],
        "records": {hostile: 1},
    }
    assert "\x1b" not in text(found)


def test_precise_samples_are_shown_by_what_was_done_with_them() -> None:
    counts = {"samples": 1000, "fitting": 800, "corrected": 150, "returned": 40, "followed": 30, "unproven": 50}
    shown = text({**FOUND, "precise": counts})
    assert "Precise events  1,000 samples" in shown
    for line in (
        "800   80.00 %  fit as they are",
        "150   15.00 %  were corrected",
        " 40    4.00 %  of these after",
        " 30    3.00 %  returned to",
    ):
        assert line in shown
    assert "Precise events" not in text()
