"""Descriptions of tracepoints in a recording's header."""

import pytest
from tests.support.perfdata.build import Attr, Build
from tests.support.perfdata.records import Opener
from tests.support.perfdata.tracepoints import format_file

from undwarf.defects import Defects
from undwarf.limits import DEFAULT
from undwarf.perfdata import feature_writer
from undwarf.perfdata.features import Feature
from undwarf.perfdata.tracing import parse_format, parse_tracing

SECTION = feature_writer.tracing(
    {"sched": [format_file('"%d", REC->a', number=5), format_file('""', name="other", number=6)], "irq": []},
    b'0xffffffff82000000 : "Start"\n0x10 : "End\\n"\nno line\n',
)


def test_formats_are_found_by_the_number_of_the_event() -> None:
    found = parse_tracing(SECTION, Defects())
    assert [(one.system, one.name, one.id) for one in found.formats.values()] == [
        ("sched", "event", 5),
        ("sched", "other", 6),
    ]
    assert found.formats[5].print_format == b'"%d", REC->a'


def test_texts_of_the_kernel_are_found_by_their_address() -> None:
    assert parse_tracing(SECTION, Defects()).strings == {0xFFFFFFFF82000000: b"Start", 0x10: b"End"}


def test_fields_have_their_kinds() -> None:
    described = parse_format(format_file('""'), "sched")
    assert described is not None
    assert [one.name for one in described.common][-1] == "common_pid"
    kinds = {
        one.name: (one.element_size, one.signed, one.string, one.dynamic, one.relative) for one in described.fields
    }
    assert kinds["a"] == (4, True, False, False, False)
    assert kinds["comm"] == (1, False, True, False, False)
    assert kinds["list"] == (4, False, False, True, False)
    assert kinds["near"] == (1, False, True, True, True)
    assert [one.name for one in described.fields if one.pointer] == ["text"]


@pytest.mark.parametrize("text", [b"", b"name: x\n", b"ID: 4\n", b"name: x\nID: 99999999999\n"])
def test_what_is_no_format_is_none(text: bytes) -> None:
    assert parse_format(text, "sched") is None


def test_a_section_that_is_cut_short_keeps_what_came_before() -> None:
    sizes = set()
    for size in range(len(SECTION)):
        defects = Defects()
        sizes.add(len(parse_tracing(SECTION[:size], defects).formats))
        assert len(defects) == 1
    assert sizes == {0, 1, 2}


def test_formats_are_limited_in_number_and_size() -> None:
    for limits, left in ((DEFAULT._replace(trace_formats=1), 1), (DEFAULT._replace(trace_format_bytes=100), 0)):
        defects = Defects()
        assert len(parse_tracing(SECTION, defects, limits).formats) == left
        assert len(defects) == 1


def test_both_forms_of_recordings_have_them(opened: Opener) -> None:
    make = Build()
    assert opened(make.file([Attr()], [], {1: SECTION})).features.tracing == SECTION
    head = make.record(66, make.pack("II", len(SECTION), 0)) + SECTION + bytes(-len(SECTION) % 8)
    piped = opened(make.pipe([Attr(ids=[1])], [head, make.round()]), name="pipe.data").features.tracing
    assert piped is not None and piped.startswith(SECTION)


def test_they_are_written_again(opened: Opener) -> None:
    data = opened(Build().file([Attr()], [], {1: SECTION}))
    assert feature_writer.encode_features(data.features, data.events)[Feature.TRACING_DATA] == SECTION
