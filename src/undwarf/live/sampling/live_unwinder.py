"""Unwinds samples round by round, as they come out of the ring buffers.

The parts are those of a recording that was read from a file, except that nothing of a round is kept but its stacks:
columns are used again, address spaces are compacted, and stacks are forgotten when they are many.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.images import ImageStore
from undwarf.images.finder import Finder
from undwarf.images.image_kind import bits_of_name
from undwarf.limits import DEFAULT, Limits
from undwarf.live.copied_code import LiveCopies
from undwarf.live.moved_code import LiveMovedCode
from undwarf.live.sampling.round_dumps import RoundDumps
from undwarf.live.sampling.stack_continuation import DeepStacks
from undwarf.live.system_snapshot import threads_of
from undwarf.perfdata import EventAttr, FileIdentity
from undwarf.perfdata.decoder import Decoder
from undwarf.perfdata.ordering import time_order
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.records_builder import build_samples, build_sideband, identity_of
from undwarf.perfdata.sample_layout import sample_layout
from undwarf.perfdata.scan_status import ScanStatus
from undwarf.spaces.replay import Replay
from undwarf.tables.disk.cache import Store
from undwarf.unwind.jit_entries import Entries
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stop_reason import StopReason
from undwarf.unwind.unwind_tables import Sources
from undwarf.unwind.walker import Walker
from undwarf.unwind.x86_64 import registers

MAX_NODES = 250_000
"""Stack nodes after which all are forgotten: their columns are made anew in each round."""
MAX_ROOM = 1 << 20
"""Mappings (30 bytes each) in the snapshots after which those are forgotten."""
FEWEST_IMAGES = 64
"""Images that there is room for at first."""
NONE = 0xFFFFFFFF
NO_RULE = int(StopReason.NO_RULE)
EXECUTABLE = 1
"""Bit of a mapping's flags (:mod:`undwarf.spaces.replay`)."""


@dataclass(slots=True)
class Round:
    """Samples of one round and what became of them; all columns are good until the next one.

    ``spans`` are (records, stream position, first sample, end sample). ``stack``, ``stop`` and ``comm`` (an index of
    ``LiveUnwinder.names``) are by sample.
    """

    spans: list[tuple[memoryview, int, int, int]]
    samples: Samples
    order: memoryview
    sideband: Sideband
    stack: memoryview
    stop: memoryview
    comm: memoryview
    everything: memoryview
    """B, 1 for each sample."""
    late: memoryview
    """Samples that came after their thread's exit was told, each thread's first."""


class LiveUnwinder:
    """Takes the records of all CPUs up to one moment, a round, and gives its stacks.

    ``order`` names the sources of unwind tables (:mod:`undwarf.tables.sources`). ``live`` lets the walk go on in the
    memory of the running process where a dump ends, ``infer`` also where nothing proves that it was the same at the
    sample; ``runtime`` keeps the absolute address of each frame. ``disk`` is
    where rows of tables are kept from run to run.
    """

    def __init__(
        self,
        events: Sequence[EventAttr],
        finder: Finder,
        features: Any = None,
        *,
        order: str | None = None,
        live: bool = True,
        infer: bool = True,
        switches: bool = False,
        runtime: bool = True,
        disk: Store | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        self.defects = Defects()
        self.names: list[bytes] = []
        self.identities: list[FileIdentity] = []
        self.keys: list[tuple[int, int]] = []
        self.store = ImageStore(self.names, self.identities, features, finder)
        self.deep = DeepStacks(infer=infer)
        self.replay = Replay()
        copied = LiveCopies(finder, self.replay.key_pids, limits, self.defects)
        self.sources = Sources(self.store, self.keys, order, disk, limits, patient=False, copies=copied.table)
        self._moved = LiveMovedCode(self.replay, self.store)
        self.decoder = Decoder(sample_layout(events), limits.records, keep_switches=switches)
        self.renewed: list[Callable[[], None]] = []
        """Called when all stacks are forgotten."""
        self._events = list(events)
        self._limits = limits
        self._live = live
        self._runtime = runtime
        self._image_room = 0
        self._name_bits = b""
        self._walker: Walker | None = None
        self._slots = memoryview(b"".join(registers.slots(event.sample_regs_user) for event in events))
        self._sample_types = 0
        for event in events:
            self._sample_types |= event.sample_type
        self._position = 0
        self._room = 0
        self._gone: set[int] = set()
        self._ones = zeros("B", 0)
        self._entries = Entries(limits.entry_samples)
        self._known_entries: list[tuple[int, int]] = []

    def unwind(self, views: Sequence[memoryview]) -> Round:
        """Take records, and walk their samples; the records of a view are whole, and in the order they came."""
        decoder = self.decoder
        decoder.columns.clear()
        self._tidy()
        spans = []
        for view in views:
            decoder.at = 0
            first = decoder.columns.samples
            while decoder.scan(view, self._position) == ScanStatus.RARE:
                # No such record comes from the kernel; whatever it is, its header says how long.
                decoder.at += int.from_bytes(view[decoder.at + 6 : decoder.at + 8], "little")
            spans.append((view, self._position, first, decoder.columns.samples))
            self._position += len(view)
        samples = build_samples(decoder.columns, self._sample_types)
        order = time_order(samples.time)
        sideband = build_sideband(decoder.columns)
        self._see_names()
        spaces = self.replay.run(sideband, samples, order, memoryview(self._name_bits))
        self._moved.keep_what_is_proven()
        stack, stop, stop_image = zeros("I", len(samples)), zeros("B", len(samples)), zeros("I", len(samples))
        if len(samples) > len(self._ones):
            self._ones = memoryview(bytearray(b"\1" * (2 * len(samples))))
        ones = self._ones[: len(samples)]
        if len(samples):
            walker = self._walker_for(samples, spaces, ones)
            self.deep.next_round(samples, RoundDumps(samples, order, spans, self._slots))
            for view, position, first, end in spans:
                if end > first:
                    walker.walk(view, position, first, end, stack, stop, stop_image)
            if NO_RULE in bytes(stop):
                self._through_entries(walker, spans, stack, stop, stop_image)
        return Round(spans, samples, order, sideband, stack, stop, spaces[2], ones, self.replay.late())

    def _through_entries(
        self,
        walker: Walker,
        spans: Sequence[tuple[memoryview, int, int, int]],
        stack: memoryview,
        stop: memoryview,
        stop_image: memoryview,
    ) -> None:
        """Walk those stacks again that end in code made at run time, once samples show what enters it."""
        ended = [
            (view, position, sample)
            for view, position, first, end in spans
            for sample in range(first, end)
            if stop[sample] == NO_RULE and stop_image[sample] != NONE and self.sources.is_made(stop_image[sample])
        ]
        if not ended or not self._entries.left:
            return
        for view, position, sample in ended:
            self._entries.look(walker, view, position, sample)
        found = self._entries.found()
        if found != self._known_entries:
            self._known_entries = found
            walker.ruleless.set_entries(found)
            for view, position, sample in ended:
                walker.walk(view, position, sample, sample + 1, stack, stop, stop_image)

    @property
    def stacks(self) -> dict[str, memoryview]:
        """Columns of all stacks so far (:class:`undwarf.unwind.stacks.Stacks`)."""
        if self._walker is None:
            nothing = {name: zeros("I", 0) for name in ("parent", "frame", "image")}
            return {**nothing, "address": zeros("Q", 0), "runtime": zeros("Q", 0), "provenance": zeros("B", 0)}
        columns: dict[str, memoryview] = self._walker.rules.stacks.columns()
        return columns

    @property
    def completed(self) -> int:
        """Stacks deeper than their dump that were followed to their root in the process's own memory."""
        return self._walker.completed if self._walker is not None else 0

    @property
    def inferred(self) -> int:
        """Stacks deeper than their dump that were followed to their root in memory as it was later."""
        return self._walker.inferred if self._walker is not None else 0

    @property
    def unproven(self) -> int:
        """Stacks deeper than their dump that could not be followed with certainty, and end where it does."""
        return self._walker.unproven if self._walker is not None else 0

    def describe(self, encoder: RecordEncoder) -> bytes:
        """Records of the processes that run, as the samples to come find them: some may have ended already."""
        out = []
        keys = self.replay.keys()
        for pid in self.replay.pids():
            threads = threads_of(pid) if pid > 0 else []
            if pid <= 0 or (self.replay.exited(pid) and not threads):
                continue
            for tid in threads or [pid]:
                comm = self.replay.comm_of(tid)
                if comm >= 0:
                    out.append(encoder.comm(self.names[comm], pid, tid))
            for start, end, offset, image, flags in self.replay.mappings_of(pid):
                if flags & EXECUTABLE:
                    name, identity = keys[image]
                    file = self.identities[identity]
                    out.append(
                        encoder.mmap2(
                            self.names[name],
                            pid,
                            pid,
                            start,
                            end - start,
                            offset,
                            build_id=file.build_id,
                            device=(file.major, file.minor),
                            inode=(file.inode, file.generation),
                        )
                    )
        return b"".join(out)

    def close(self) -> None:
        """Keep the tables' rows for the next run, and close the memory of processes."""
        self.sources.keep_tables()
        self.deep.close()

    def _see_names(self) -> None:
        """Learn of the names, files and images that are new."""
        new = self.decoder.columns.names.entries(len(self.names))
        self.names += new
        if new:
            # The replay still holds the old ones.
            self._name_bits += bytes(map(bits_of_name, new))
        self.identities += [identity_of(key) for key in self.decoder.columns.identities.entries(len(self.identities))]

    def _walker_for(self, samples: Samples, spaces: tuple[Any, Any, Any], selected: memoryview) -> Walker:
        total = self.replay.image_total()
        if total > len(self.keys):
            self.keys += self.replay.keys()[len(self.keys) :]
        columns = self.replay.columns()
        if self._walker is None or total > self._image_room:
            self._image_room = max(FEWEST_IMAGES, 2 * total)
            before = self._walker
            rules = RuleCache(self.sources, columns, self._image_room, self._runtime, NONE)
            self._walker = Walker(rules, self._slots, self._limits)
            if before is not None:
                self._walker.take_over(before)
                self._walker.ruleless.set_entries(self._known_entries)
            elif self._live:
                self._walker.live.continue_with(self.deep)
        self._walker.set_samples(samples, spaces[0], spaces[1], selected)
        self._walker.rules.see_spaces(columns, self.sources.kernel_image())
        return self._walker

    def _tidy(self) -> None:
        """Between rounds, when nothing refers to them: forget stacks and snapshots that are many."""
        if self._walker is None:
            return
        if self._walker.rules.stacks.nodes_total() > MAX_NODES:
            self._walker.rules.reset()
            # They name calls by the frames that are forgotten.
            self._entries, self._known_entries = Entries(self._limits.entry_samples), []
            self._walker.ruleless.set_entries([])
            for tell in self.renewed:
                tell()
        room = self.replay.mapping_room()
        if room > MAX_ROOM and room > 4 * self._room:
            # A process that is gone may have samples still on their way: it goes with the next time.
            gone = {pid for pid in self.replay.pids() if pid > 0 and not os.access(f"/proc/{pid}", os.F_OK)}
            self.replay.compact(gone & self._gone)
            self._gone = gone
            self._room = self.replay.mapping_room()
            self._walker.rules.see_spaces(self.replay.columns(), self.sources.kernel_image(), renumbered=True)
