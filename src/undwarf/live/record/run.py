"""`undwarf record`: samples are read from ring buffers, unwound at once, and written to a perf.data with whole chains.

While it grows the file is in pipe form, which is readable if the writer is killed; at the end it is rewritten in file
form, with the same records.
"""

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any, BinaryIO

from undwarf.column import zeros
from undwarf.live import perf_event as pe
from undwarf.live import system_snapshot as system
from undwarf.live.record.described_processes import DescribedProcesses
from undwarf.live.record.off_cpu import Blocked
from undwarf.live.sampling.live_unwinder import LiveUnwinder, Round
from undwarf.live.sampling.sampler import Sampler
from undwarf.perfdata import EventAttr, Features, RecordType
from undwarf.perfdata.feature_writer import build_id_record, event_desc
from undwarf.perfdata.features import Feature
from undwarf.perfdata.reader import STITCHED_BY
from undwarf.perfdata.record_writer import finished_round
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.chain_rewriter import names_of_the_late, stitched_event
from undwarf.unwind.sample_writer import Emitter

DESCRIBE_INTERVAL_S = 2.0
"""Least seconds between two descriptions of running processes, which follow a loss of records."""
FLUSH_INTERVAL_S = 1.0
"""Seconds after which recorded samples are in the file."""


class Recorder:
    """Writes the records of a :class:`Sampler` to ``sink``, in pipe form.

    ``sink`` is opened when there is something to write: the file is never empty for long.
    """

    def __init__(self, sampler: Sampler, sink: Callable[[], BinaryIO], version: str) -> None:
        self.sampler = sampler
        self.summary = sampler.summary
        self.events = self._output_events()
        features = system.describe_machine(
            self.events,
            sampler.settings.command_line,
            f"{STITCHED_BY}{version}" if sampler.walks or sampler.settings.mode == "fp" else version,
            pe.tracing_data(self.events),
            sampler.leaders,
        )
        self.features = features
        self.level = sampler.settings.level if sampler.settings.zstd else 0
        self.writer = self._writer(sink())
        self.after_round: Callable[[], None] = lambda: None
        """Called after each round, when its records are written."""
        self.forewords: list[Callable[[Samples, Sideband, Sequence[bytes]], bytes]] = []
        """They give records that go before those of a round, from its samples, side band and names, when it is decoded
        and not unwound yet."""
        self.see_round: Callable[[Round, LiveUnwinder, dict[str, memoryview]], None] = lambda *_round: None
        """Called with each unwound round, its unwinder and the columns of all stacks so far."""
        self.images: Callable[[], Iterable[int] | None] = lambda: None
        """Gives the numbers of the images that have frames in the current file; None: all that have any."""
        self._described: DescribedProcesses | None = None
        self._before: list[bytes] = []
        self._unwinder: LiveUnwinder | None = None
        self._emitter: Emitter | None = None
        self._blocked: Blocked | None = None
        self._flushed = time.monotonic()
        self._described_at = time.monotonic()
        self._lost = self._lost_before = self._described_bytes = 0
        self._pieces: Iterator[bytes] = iter(())
        sampler.between = self._between
        if sampler.walks:
            self._start_walking()

    def _writer(self, sink: BinaryIO) -> PerfWriter:
        return PerfWriter(sink, self.events, features=self.features, form="pipe", zstd_level=self.level)

    def _output_events(self) -> list[EventAttr]:
        events = list(self.sampler.events)
        if self.sampler.walks:
            events = [stitched_event(event) for event in events]
        return [replace(event, flags=event.flags & ~(pe.MMAP_DATA | pe.CONTEXT_SWITCH)) for event in events]

    def _start_walking(self) -> None:
        events = self.sampler.events
        self._unwinder = self._new_unwinder()
        self._emitter = Emitter(self._unwinder.stacks)
        self._words, self._skipped = zeros("I", len(events)), zeros("B", 256)
        for number, event in enumerate(events):
            self._words[number] = event.sample_regs_user.bit_count()
        if self.sampler.off_cpu is not None:
            self._blocked = Blocked(self.sampler.settings.off_cpu_least)
            self._skipped[RecordType.SWITCH] = self._skipped[RecordType.SWITCH_CPU_WIDE] = 1

    def _new_unwinder(self) -> LiveUnwinder:
        features = Features()
        features.osrelease = os.uname().release
        unwinder = self.sampler.unwinder(features)
        unwinder.decoded.append(self._decoded)
        unwinder.renewed.append(self._renewed)
        return unwinder

    def _decoded(self, samples: Samples, order: Sequence[int], sideband: Sideband) -> None:
        assert self._unwinder is not None
        self._before = [foreword(samples, sideband, self._unwinder.names) for foreword in self.forewords]
        if self._described is not None:
            self._before.append(self._described.before(samples, order, sideband))

    def _renewed(self) -> None:
        if self._blocked is not None:
            self.summary.forgotten += self._blocked.waiting
            self._blocked.forget()

    def run(self) -> None:
        """Record until sampling ends, and write what is left."""
        self.sampler.run(self._begin, self._take)
        if self._unwinder is not None:
            if self._blocked is not None:
                self._blocked.finish(time.monotonic_ns())
                self._write_blocked()
            self.summary.lost = max(self.summary.lost, self.lost)
            self._add_counts()
        else:
            self.summary.samples = self.samples
        self.end_file()

    def _add_counts(self) -> None:
        """Add the counts of the present unwinder to the summary."""
        assert self._unwinder is not None
        assert self._emitter is not None
        counts = self._unwinder.decoder.counts()
        self.summary.exits += counts.get(RecordType.EXIT, 0)
        self.summary.throttled += counts.get(RecordType.THROTTLE, 0)
        self.summary.shortened += self._emitter.shortened
        self.summary.dropped += self._emitter.dropped
        self.summary.completed += self._unwinder.completed
        self.summary.unproven += self._unwinder.unproven
        self.summary.inferred += self._unwinder.inferred

    @property
    def samples(self) -> int:
        """Number of samples so far, in all files."""
        if self._unwinder is not None:
            return self.summary.samples
        return sum(ring.samples for ring in self.sampler.open.rings)

    @property
    def grown(self) -> int:
        """Bytes of the current file, without the description of the processes that ran at its start."""
        return self.writer.written - self._described_bytes

    @property
    def lost(self) -> int:
        """Number of records lost to full buffers so far."""
        now = self._unwinder.decoder.sideband.lost if self._unwinder is not None else 0
        return max(self.sampler.open.lost(), self._lost_before + now)

    def end_file(self) -> PerfWriter:
        """Complete the current file; returns its writer."""
        if self._unwinder is not None:
            # Of files that the kernel described without one.
            for entry in self._unwinder.build_ids(self.images()):
                self.writer.write(build_id_record(entry, RecordType.HEADER_BUILD_ID))
        self.writer.write(finished_round())
        self.writer.flush()
        return self.writer

    def begin_file(self, sink: BinaryIO) -> None:
        """Write to ``sink`` from now on, first the processes that run, or each of them before its first samples."""
        self.features |= system.clocks()
        self.writer = self._writer(sink)
        if self._unwinder is not None:
            self._described = DescribedProcesses(self._unwinder, self.sampler.encoder())
            self.writer.write(self.sampler.describe_kernel())
        else:
            self.writer.write(self.sampler.describe_now())
        self.writer.flush()
        self._described_bytes = self.writer.written
        self._flushed = time.monotonic()

    def forget_images(self, used: Set[int]) -> None:
        """Drop the unwind tables of all images but ``used``; between two rounds."""
        if self._unwinder is not None:
            self._unwinder.forget_images(used)

    def renew_unwinder(self) -> None:
        """Go on with a new unwinder that knows the processes of the present one and nothing else; between two files."""
        assert self._unwinder is not None
        records = self.sampler.describe_kernel() + self._unwinder.describe(self.sampler.encoder())
        self._add_counts()
        self._lost_before += self._unwinder.decoder.sideband.lost
        self._lost = 0
        self._renewed()
        self.sampler.release(self._unwinder)
        # Its memory is free before the new one takes any.
        self._described = self._unwinder = self._emitter = None
        gc.collect()
        self._unwinder = self._new_unwinder()
        self._emitter = Emitter(self._unwinder.stacks)
        self._unwinder.unwind([memoryview(records)])

    @property
    def outgrown(self) -> bool:
        """Whether a new unwinder would be much smaller."""
        return self._unwinder is not None and self._unwinder.outgrown

    def as_file(self, written: PerfWriter, source: int, sink: BinaryIO) -> None:
        """Copy the records of ``written``, whose file has the descriptor ``source``, to ``sink`` in file form."""
        features = dict(self.features)
        features[Feature.EVENT_DESC] = event_desc(self.events)
        with PerfWriter(sink, self.events, features=features, zstd_level=self.level) as whole:
            whole.adopt(source, written.records_at, written.records_at + written.written)

    def _begin(self, records: bytes) -> None:
        if self._unwinder is not None:
            self._finish_round(self._unwinder.unwind([memoryview(records)]))
        else:
            self.writer.write(records)

    def _take(self, views: list[memoryview]) -> None:
        if self._unwinder is not None:
            done = self._unwinder.unwind(views)
            self._finish_round(done)
            done.spans.clear()
            if (
                self._unwinder.decoder.sideband.lost > self._lost
                and time.monotonic() - self._described_at > DESCRIBE_INTERVAL_S
            ):
                # Lost records may have been mappings, names, new processes.
                self._lost, self._described_at = self._unwinder.decoder.sideband.lost, time.monotonic()
                known = {*self._unwinder.replay.pids(), *done.samples.pid}
                self._pieces = self.sampler.describe_again(known)
        else:
            for view in views:
                self.writer.write(view)
        self.writer.write(finished_round())
        now = time.monotonic()
        if now - self._flushed > FLUSH_INTERVAL_S:
            self._flushed = now
            self.writer.flush()
        most = self.sampler.settings.most_bytes
        if most and self.grown >= most:
            self.summary.full = self.sampler.stopped = True
        self.after_round()

    def _between(self) -> None:
        """Write the next piece of a description of running processes."""
        records = next(self._pieces, b"")
        if records:
            self._begin(records)

    def _finish_round(self, done: Round) -> None:
        """Write the records of a round with the unwound chains."""
        emitter, unwinder = self._emitter, self._unwinder
        assert emitter is not None
        assert unwinder is not None
        for records in self._before:
            self.writer.write(records)
        if self._described is not None:
            emitter.only_of(bytes(self._described.pids))
        stacks = unwinder.stacks
        emitter.see(stacks)
        emitter.restart()
        comms = [unwinder.names[done.comm[sample]] for sample in done.late]
        emitter.precede(names_of_the_late(self.sampler.events, done.samples, done.late, comms))
        selected = done.everything
        if self._blocked is not None and self.sampler.off_cpu is not None:
            selected = self._blocked.without(done.samples.event, self.sampler.off_cpu)
            self._blocked.run(
                done.samples, done.order, done.sideband, self.sampler.off_cpu, done.stack, done.stop, done.comm
            )
        for view, position, _first, _end in done.spans:
            emitter.rewrite(
                view, position, done.samples, self._words, done.stack, done.stop, selected, self._skipped, True
            )
        self.writer.write(emitter.take())
        if self._blocked is not None:
            self._write_blocked()
        self.summary.samples += len(done.samples)
        self.see_round(done, unwinder, stacks)

    def _write_blocked(self) -> None:
        assert self._blocked is not None
        assert self._emitter is not None
        assert self.sampler.off_cpu is not None
        count = self._blocked.ended
        if not count:
            return
        event = self.events[self.sampler.off_cpu]
        columns: dict[str, Any] = self._blocked.take()
        if self._described is not None:
            threads = set(zip(columns["pid"][:count], columns["tid"][:count], strict=True))
            self.writer.write(self._described.of_threads(threads, max(0, min(columns["time"][:count]) - 1)))
        columns["identifier"] = memoryview(event.ids[0].to_bytes(8, "little") * count).cast("Q")
        self._emitter.samples(event.sample_type, columns, 0, count)
        self.writer.write(self._emitter.take())
        self.summary.blocked += count
