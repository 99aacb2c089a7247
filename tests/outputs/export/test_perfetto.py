"""Traces for Perfetto, read with the classes of its own Python package."""

import gzip
from collections import defaultdict
from typing import Any, NamedTuple

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

perfetto = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the perfetto package is not installed"
)


class Trace:
    """A trace as trace_processor would resolve it: samples with frames, innermost first."""

    def __init__(self, data: bytes) -> None:
        self.packets = perfetto.Trace.FromString(gzip.decompress(data)).packet
        tables: dict[str, dict[int, Any]] = defaultdict(dict)
        counts: dict[int, int] = {}
        self.samples = []
        self.defaults: Any = None
        self.processes: dict[int, str] = {}
        self.threads: dict[int, tuple[int, str]] = {}
        for packet in self.packets:
            assert packet.trusted_packet_sequence_id == 1
            if packet.HasField("trace_packet_defaults"):
                assert packet.sequence_flags == perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
                self.defaults = packet.trace_packet_defaults.perf_sample_defaults
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    assert tables[field.name].setdefault(entry.iid, entry) is entry, "ids are given once"
            for process in packet.process_tree.processes:
                self.processes[process.pid] = process.cmdline[0]
            for thread in packet.process_tree.threads:
                self.threads[thread.tid] = (thread.tgid, thread.name)
            if packet.HasField("perf_sample"):
                assert packet.sequence_flags == perfetto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
                sample = packet.perf_sample
                weight = sample.timebase_count - counts.get(sample.cpu, 0)
                counts[sample.cpu] = sample.timebase_count
                ids = tables["callstacks"][sample.callstack_iid].frame_ids if sample.callstack_iid else ()
                frames = [self._frame(tables, one) for one in reversed(ids)]
                self.samples.append(Sample(packet.timestamp, sample, weight, frames))

    @staticmethod
    def _frame(tables: dict[str, dict[int, Any]], iid: int) -> "Frame":
        frame = tables["frames"][iid]
        mapping = tables["mappings"][frame.mapping_id]
        path = "/".join(tables["mapping_paths"][one].str.decode() for one in mapping.path_string_ids)
        build_id = tables["build_ids"][mapping.build_id].str.hex() if mapping.build_id else ""
        source = tables["source_paths"][frame.source_path_iid].str.decode() if frame.source_path_iid else ""
        name = tables["function_names"][frame.function_name_id].str.decode()
        return Frame(name, f"/{path}", build_id, frame.rel_pc, source, frame.line_number)

    def stacks(self) -> list[tuple[list[str], int]]:
        return [([frame.name for frame in sample.frames], sample.weight) for sample in self.samples]


class Frame(NamedTuple):
    name: str
    mapping: str
    build_id: str
    address: int
    source: str
    line: int


class Sample(NamedTuple):
    time: int
    message: Any
    weight: int
    frames: list[Frame]


def test_functions_have_the_weights_of_the_report() -> None:
    found = added(Trace(export("perfetto")).stacks())
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("source", ["perf-script"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(source: str) -> None:
    found = added(Trace(export_of(source, "perfetto")).stacks())
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


def test_the_total_is_that_of_the_report() -> None:
    assert sum(weight for _stack, weight in Trace(export("perfetto")).stacks()) == report().total > 0


def test_nothing_in_a_trace_is_unknown_to_perfetto() -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet

    for packet in Trace(export("perfetto")).packets:
        parts = [packet, packet.perf_sample, packet.process_tree, packet.interned_data, packet.trace_packet_defaults]
        parts += [entry for _field, entries in packet.interned_data.ListFields() for entry in entries]
        assert not any(len(UnknownFieldSet(part)) for part in parts)


def test_samples_have_their_thread_cpu_and_time() -> None:
    samples = [
        S("main@app", comm="one", pid=5, tid=5, cpu=1, time=10, period=4),
        S("main@app read@kernel", comm="two", pid=5, tid=6, cpu=0, time=20, period=3),
        S("main@app", comm="one", pid=5, tid=5, cpu=1, time=30, period=2),
    ]
    trace = Trace(write(make_profile(samples), "perfetto"))
    assert [
        (one.time, one.message.pid, one.message.tid, one.message.cpu, one.message.cpu_mode, one.weight)
        for one in trace.samples
    ] == [(10, 5, 5, 1, 2, 4), (20, 5, 6, 0, 1, 3), (30, 5, 5, 1, 2, 2)]
    assert (trace.processes, trace.threads) == ({5: "one"}, {5: (5, "one"), 6: (5, "two")})


def test_an_unknown_cpu_is_no_number() -> None:
    """The viewer would show CPU 4294967295."""
    samples = Trace(write(make_profile([S("main@app", cpu=-1, period=4), S("main@app", cpu=-1, period=3)]), "perfetto"))
    assert [(one.message.HasField("cpu"), one.weight) for one in samples.samples] == [(False, 4), (False, 3)]


def test_frames_have_their_file_build_id_address_and_line() -> None:
    sample = Trace(write(inlined_profile(), "perfetto")).samples[0]
    assert sample.frames == [
        Frame("inner", "/opt/app/bin/app", "aa" * 20, 0x2010, "/src/inner.h", 3),
        Frame("outer", "/opt/app/bin/app", "aa" * 20, 0x2010, "/src/app.c", 20),
        Frame("main", "/opt/app/bin/app", "aa" * 20, 0x3010, "/src/app.c", 10),
    ]


def test_the_counter_is_the_event() -> None:
    profile = make_profile([S("main@app")], ("cycles:u",))
    base = Trace(write(profile, "perfetto", Origin("perf.data", intervals=(1_000_000,)))).defaults.timebase
    assert (base.counter, base.name, base.frequency) == (perfetto.PerfEvents.HW_CPU_CYCLES, "cycles:u", 1000)


def test_a_sample_without_a_stack_keeps_its_weight() -> None:
    assert Trace(write(make_profile([S("", period=5)]), "perfetto")).stacks() == [([], 5)]


def test_a_process_outside_the_namespace_is_a_number_of_32_bits() -> None:
    (sample,) = Trace(write(make_profile([S("main@app", pid=-1, tid=-1)]), "perfetto")).samples
    assert sample.message.pid == sample.message.tid == (1 << 32) - 1


def test_a_lost_name_is_counted() -> None:
    assert "names of threads that changed theirs (1)" in losses(
        make_profile([S("a@app", comm="sh"), S("a@app", comm="ls")]), "perfetto"
    )


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(name: str) -> None:
    trace = Trace(write(hostile_profile(name), "perfetto"))
    assert trace.stacks() == [([printable(name), "other", "main"], 7)]
    assert trace.threads == {100: (100, printable(name))}
