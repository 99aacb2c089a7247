"""OpenTelemetry profiles, read with the classes of opentelemetry-proto."""

from typing import Any

import pytest
from tests.support.exports import (
    HOSTILE,
    added,
    export,
    export_of,
    hostile_profile,
    inlined_profile,
    losses,
    report,
    write,
)
from tests.support.profiles import S, make_profile

from undwarf.outputs.export.origin import Origin
from undwarf.outputs.terminal.escape import printable

profiles = pytest.importorskip(
    "opentelemetry.proto.profiles.v1development.profiles_pb2", reason="opentelemetry-proto is not installed"
)
START = 1_700_000_000_000_000_000


class Data:
    """A message with its tables resolved."""

    def __init__(self, data: bytes) -> None:
        self.message = profiles.ProfilesData.FromString(data)
        self.tables = self.message.dictionary
        (resource,) = self.message.resource_profiles
        (scope,) = resource.scope_profiles
        self.resource = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
        self.profiles = list(scope.profiles)

    def string(self, index: int) -> str:
        return str(self.tables.string_table[index])

    def attributes(self, owner: Any) -> dict[str, Any]:
        found = [self.tables.attribute_table[index] for index in owner.attribute_indices]
        return {self.string(one.key_strindex): getattr(one.value, one.value.WhichOneof("value")) for one in found}

    def lines(self, location: Any) -> list[tuple[str, str, int]]:
        """(function, file, line), innermost first."""
        found = [(self.tables.function_table[line.function_index], line.line) for line in location.lines]
        return [(self.string(one.name_strindex), self.string(one.filename_strindex), line) for one, line in found]

    def locations(self, sample: Any) -> list[Any]:
        indices = self.tables.stack_table[sample.stack_index].location_indices
        return [self.tables.location_table[index] for index in indices]

    def stacks(self, number: int = 0) -> list[tuple[list[str], int]]:
        return [
            ([line[0] for location in self.locations(sample) for line in self.lines(location)], sum(sample.values))
            for sample in self.profiles[number].samples
        ]


def test_functions_have_the_weights_of_the_report() -> None:
    found = added(Data(export("otlp")).stacks())
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("source", ["folded", "pprof", "perf-script", "speedscope"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(source: str) -> None:
    found = added(Data(export_of(source, "otlp")).stacks())
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


def test_the_total_is_that_of_the_report() -> None:
    data = Data(export("otlp"))
    (profile,) = data.profiles
    assert sum(sum(sample.values) for sample in profile.samples) == report().total > 0
    assert data.string(profile.sample_type.unit_strindex) == "nanoseconds"


def test_nothing_is_unknown_to_opentelemetry() -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet

    def parts(message: Any) -> Any:
        yield message
        for field, value in message.ListFields():
            if field.message_type is not None:
                for entry in value if field.is_repeated else [value]:
                    yield from parts(entry)

    assert not any(len(UnknownFieldSet(part)) for part in parts(Data(export("otlp")).message))


def test_the_first_entry_of_each_table_is_empty() -> None:
    tables = Data(export("otlp")).tables
    for field in tables.DESCRIPTOR.fields:
        first = getattr(tables, field.name)[0]
        assert first == "" if field.message_type is None else first == type(first)()


def test_each_event_is_a_profile() -> None:
    samples = [S("a@app", period=5), S("b@app", event=1, period=7), S("b@app", event=1, period=8)]
    data = Data(write(make_profile(samples, ("cycles", "page-faults")), "otlp"))
    types = [
        (data.string(one.sample_type.type_strindex), data.string(one.sample_type.unit_strindex))
        for one in data.profiles
    ]
    assert types == [("cycles", "cycles"), ("page-faults", "page-faults")]
    assert [data.stacks(0), data.stacks(1)] == [[(["a"], 5)], [(["b"], 15)]]


def test_samples_have_their_thread_and_times() -> None:
    samples = [
        S("main@app", comm="one", pid=5, tid=6, time=1_000, period=4),
        S("main@app", comm="two", pid=5, tid=0, time=1_500, period=1),
        S("main@app", comm="one", pid=5, tid=6, time=2_000, period=3),
    ]
    data = Data(write(make_profile(samples), "otlp", Origin("perf.data", start=START)))
    one, two = data.profiles[0].samples
    assert (list(one.values), list(one.timestamps_unix_nano)) == ([4, 3], [START, START + 1000])
    assert (list(two.values), list(two.timestamps_unix_nano)) == ([1], [START + 500])
    assert data.attributes(one) == {"thread.name": "one", "thread.id": 6, "process.pid": 5}
    assert data.attributes(two) == {"thread.name": "two", "thread.id": 0, "process.pid": 5}


def test_an_unknown_start_is_not_invented() -> None:
    profile = make_profile([S("main@app", period=4), S("main@app", period=3)])
    (sample,) = Data(write(profile, "otlp")).profiles[0].samples
    assert (list(sample.values), list(sample.timestamps_unix_nano)) == ([7], [])
    assert "no wall-clock time" in losses(profile, "otlp")


def test_a_location_has_its_inlined_functions_and_lines() -> None:
    data = Data(write(inlined_profile(), "otlp"))
    inner, outer = data.locations(data.profiles[0].samples[0])
    assert data.lines(inner) == [("inner", "/src/inner.h", 3), ("outer", "/src/app.c", 20)]
    assert data.lines(outer) == [("main", "/src/app.c", 10)]
    mapping = data.tables.mapping_table[inner.mapping_index]
    assert (inner.address, data.string(mapping.filename_strindex)) == (0x2010, "/opt/app/bin/app")
    assert data.attributes(mapping) == {"process.executable.build_id.gnu": "aa" * 20}


def test_frames_of_the_kernel_are_marked() -> None:
    data = Data(write(make_profile([S("main@app read@kernel")]), "otlp"))
    types = [data.attributes(location) for location in data.locations(data.profiles[0].samples[0])]
    assert types == [{"profile.frame.type": "kernel"}, {"profile.frame.type": "native"}]


def test_the_machine_is_the_resource() -> None:
    origin = Origin("perf.data", "perf record x", "box", "6.1", "x86_64")
    assert Data(write(make_profile([S("main@app")]), "otlp", origin)).resource == {
        "host.name": "box",
        "host.arch": "x86_64",
        "os.type": "linux",
        "os.version": "6.1",
        "process.command_line": "perf record x",
    }


def test_a_sample_without_a_stack_keeps_its_weight() -> None:
    assert Data(write(make_profile([S("", period=5)]), "otlp")).stacks() == [([], 5)]


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(name: str) -> None:
    data = Data(write(hostile_profile(name), "otlp"))
    assert data.stacks() == [([printable(name), "other", "main"], 7)]
    assert data.attributes(data.profiles[0].samples[0])["thread.name"] == printable(name)
