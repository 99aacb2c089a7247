"""Unwinds samples in rounds, as they come out of the ring buffers.

Works like the unwinding of a file, except that only stacks are kept of a round: columns are reused, address spaces are
compacted, and stacks are dropped when there are many.
"""

import os
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.images import ImageStore
from undwarf.images.finder import Finder
from undwarf.images.image_kind import ImageKind, bits_of_name, kind_of_name
from undwarf.integer_constants import NOTHING
from undwarf.limits import DEFAULT, Limits
from undwarf.live.copied_code import LiveCopies
from undwarf.live.moved_code import LiveMovedCode
from undwarf.live.sampling.round_dumps import RoundDumps
from undwarf.live.sampling.stack_continuation import MAX_KEPT_BYTES, DeepStacks
from undwarf.live.system_snapshot import threads_of
from undwarf.ordering import sort_order
from undwarf.perfdata import EventAttr, FileIdentity
from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.decoder import Decoder
from undwarf.perfdata.features import BuildId
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.records_builder import build_samples, build_sideband, identity_of
from undwarf.perfdata.sample_layout import sample_layout
from undwarf.perfdata.scan_status import ScanStatus
from undwarf.spaces.mapping_flags import EXECUTABLE
from undwarf.spaces.replay import Replay
from undwarf.tables.disk.cache import Store
from undwarf.unwind.arch import X86_64
from undwarf.unwind.jit_entries import Entries
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stop_reason import StopReason
from undwarf.unwind.unwind_tables import UnwindTables
from undwarf.unwind.walker import Walker
from undwarf.unwind.x86_64 import registers

if TYPE_CHECKING:
    from undwarf.profile.call_proof import CodeProof

MAX_NODES = 250_000
"""Stack nodes above which all are dropped: their columns are copied in each round."""
MAX_SNAPSHOT_MAPPINGS = 1 << 20
"""Mappings (30 bytes each) in the snapshots above which those are compacted."""
MAX_TASK_ENTRIES = 1 << 15
"""Map entries of processes and threads (30 bytes each) above which those of exited ones are dropped."""
GROWTH = 2
"""How often its size after the last time it must have before it is compacted again."""
ROUNDS_AFTER_END = 2
"""Rounds after which an exited process has no more samples: the first may still have some from before its exit."""
MANY_MAPPINGS, MANY_NAMES, MANY_IMAGES = 1 << 18, 10_000, 5_000
"""Mappings in snapshots, names (of files and threads) and images from which an unwinder has outgrown its processes:
together some 15 MB. A machine with 500 processes has half of the mappings when it starts."""
LEAST_NEW = 16
"""Functions beyond the rows in the cache for which these are written again: to read as many takes as long."""
INITIAL_IMAGES = 64
"""Images that the first walker can hold."""


@dataclass(slots=True)
class Round:
    """The samples and stacks of one round; all columns are valid until the next round.

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
    """The first sample of each thread whose samples come after its EXIT record."""


class LiveUnwinder:
    """Unwinds rounds: the records of all CPUs up to one time.

    ``order`` names the sources of unwind tables (:mod:`undwarf.tables.sources`). ``live``: continue stacks beyond their
    dump in the memory of the running process, ``infer``: also if it is not proven that it was the same at the time of
    the sample. ``runtime`` keeps the run-time address of each frame. Snapshots of address spaces are compacted above
    ``most_mappings``, stacks are dropped above ``most_nodes``; ``most_memory`` bytes are kept of memory beyond dumps.
    ``searches_calls``: search all code for calls of functions whose return address a probe has replaced. ``disk``
    caches rows of unwind tables.
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
        most_mappings: int = MAX_SNAPSHOT_MAPPINGS,
        most_memory: int = MAX_KEPT_BYTES,
        most_nodes: int = MAX_NODES,
        searches_calls: bool = True,
        disk: Store | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        self.defects = Defects()
        self.names: list[bytes] = []
        self.identities: list[FileIdentity] = []
        self.keys: list[tuple[int, int]] = []
        self.store = ImageStore(self.names, self.identities, features, finder)
        self.deep = DeepStacks(infer=infer, most_bytes=most_memory)
        self.replay = Replay()
        copied = LiveCopies(finder, self.replay.key_pids, limits, self.defects)
        self.sources = UnwindTables(
            self.store,
            self.keys,
            order,
            disk,
            limits,
            patient=False,
            copies=copied.table,
            proof=self._code_proof if searches_calls else None,
            # That takes a while; precise samples are better corrected from a file with their dumps.
            corrects_precise=False,
        )
        self.sources.least_new = LEAST_NEW
        self._moved = LiveMovedCode(self.replay, self.store)
        self.decoder = Decoder(sample_layout(events), limits.records, keep_switches=switches)
        self.decoded: list[Callable[[Samples, Sequence[int], Sideband], None]] = []
        """Called with the samples of each round, their order by time and its side band, before these are replayed."""
        self.renewed: list[Callable[[], None]] = []
        """Called when all stacks are dropped."""
        self._events = list(events)
        self._limits = limits
        self._live = live
        self._runtime = runtime
        self._image_capacity = 0
        self._name_bits = b""
        self._walker: Walker | None = None
        self._slots = memoryview(b"".join(registers.slots(event.sample_regs_user) for event in events))
        self._sample_types = 0
        for event in events:
            self._sample_types |= event.sample_type
        self._position = 0
        self._most_mappings = most_mappings
        self._most_nodes = most_nodes
        self._compacted_sizes = 0, 0
        self._ended: set[int] | None = None
        self._rounds_since = 0
        self._ones = zeros("B", 0)
        self._entries = Entries(limits.entry_samples)
        self._known_entries: list[tuple[int, int]] = []

    def _code_proof(self) -> "CodeProof":
        """Checks calls against the code of the images."""
        from undwarf.profile.call_proof import CodeProof  # not at the top: few processes have return probes
        from undwarf.symbols.resolver import Resolver, ResolverOptions

        return CodeProof(self.store, X86_64.calls, Resolver(self.store, ResolverOptions(limits=self._limits)))

    def unwind(self, views: Sequence[memoryview]) -> Round:
        """Walk the samples of these records; a view has complete records in the order of one CPU's buffer."""
        decoder = self.decoder
        decoder.columns.clear()
        self._tidy()
        spans = []
        for view in views:
            decoder.at = 0
            first = decoder.columns.samples
            while decoder.scan(view, self._position) == ScanStatus.RARE:
                # The kernel writes no such records; whatever it is, its header has its length.
                decoder.at += int.from_bytes(view[decoder.at + 6 : decoder.at + 8], "little")
            spans.append((view, self._position, first, decoder.columns.samples))
            self._position += len(view)
        samples = build_samples(decoder.columns, self._sample_types)
        order = sort_order(samples.time)
        sideband = build_sideband(decoder.columns)
        self._see_names()
        for notify in self.decoded:
            notify(samples, order, sideband)
        spaces = self.replay.run(sideband, samples, order, memoryview(self._name_bits))
        self._moved.reject_unproven()
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
            if StopReason.NO_RULE in bytes(stop):
                self._unwind_entries(walker, spans, stack, stop, stop_image)
        return Round(spans, samples, order, sideband, stack, stop, spaces[2], ones, self.replay.late())

    def _unwind_entries(
        self,
        walker: Walker,
        spans: Sequence[tuple[memoryview, int, int, int]],
        stack: memoryview,
        stop: memoryview,
        stop_image: memoryview,
    ) -> None:
        """Walk stacks that end in run-time generated code again, when samples show through which call it is entered."""
        ended = [
            (view, position, sample)
            for view, position, first, end in spans
            for sample in range(first, end)
            if stop[sample] == StopReason.NO_RULE
            and stop_image[sample] != NOTHING
            and self.sources.is_jit(stop_image[sample])
        ]
        if not ended or not self._entries.left:
            return
        for view, position, sample in ended:
            self._entries.add(walker, view, position, sample)
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
            return {
                **nothing,
                **{name: zeros("Q", 0) for name in ("address", "runtime")},
                **{name: zeros("B", 0) for name in ("provenance", "is_return")},
            }
        columns: dict[str, memoryview] = self._walker.rules.stacks.columns()
        return columns

    @property
    def completed(self) -> int:
        """Stacks deeper than their dump that were completed from memory that provably had not changed."""
        return self._walker.completed if self._walker is not None else 0

    @property
    def inferred(self) -> int:
        """Stacks deeper than their dump that were completed from memory of another time."""
        return self._walker.inferred if self._walker is not None else 0

    @property
    def unproven(self) -> int:
        """Stacks deeper than their dump that were not completed, and end where it does."""
        return self._walker.unproven if self._walker is not None else 0

    def describe(self, encoder: RecordEncoder) -> bytes:
        """Records of the known processes, including ended ones whose last samples are still to come."""
        out = []
        for pid in self.replay.pids():
            threads = threads_of(pid) if pid > 0 else []
            if pid <= 0 or (self.replay.exited(pid) and not threads):
                continue
            out += [self.describe_name(encoder, pid, tid) for tid in threads or [pid]]
            out.append(self.describe_mappings(encoder, pid))
        return b"".join(out)

    def describe_name(self, encoder: RecordEncoder, pid: int, tid: int, time: int = 0) -> bytes:
        """The record of a thread's name, as of ``time`` (ns); empty if it is not known."""
        comm = self.replay.comm_of(tid)
        return encoder.comm(self.names[comm], pid, tid, time=time) if 0 <= comm < len(self.names) else b""

    def describe_mappings(self, encoder: RecordEncoder, pid: int, time: int = 0) -> bytes:
        """Records of a process's code, as of ``time`` (ns); empty if it has none."""
        out = []
        for start, end, offset, image, flags in self.replay.mappings_of(pid):
            if flags & EXECUTABLE:
                if image >= len(self.keys):
                    self.keys += self.replay.keys()[len(self.keys) :]
                name, identity = self.keys[image]
                file = self.identities[identity]
                path = self.names[name]
                build_id = file.build_id or self._own_build_id(image)
                out.append(
                    encoder.mmap2(
                        path,
                        pid,
                        pid,
                        start,
                        end - start,
                        offset,
                        build_id=build_id,
                        device=(file.major, file.minor),
                        inode=(file.inode, file.generation),
                        time=time,
                    )
                )
        return b"".join(out)

    def mapped_dump(self, pid: int) -> tuple[str, int] | None:
        """(path, inode) of the jitdump that a process has mapped, which is how it is announced; None without one."""
        for _start, _end, _offset, image, _flags in self.replay.mappings_of(pid):
            if image < len(self.keys):
                name, identity = self.keys[image]
                if kind_of_name(self.names[name]) is ImageKind.JITDUMP:
                    return os.fsdecode(self.names[name]), self.identities[identity].inode
        return None

    def build_ids(self, images: "Iterable[int] | None" = None) -> list[BuildId]:
        """The build-ids of those of the images (all without) that have frames and that the kernel described by device
        and inode; without those whose names have several."""
        found: dict[bytes, set[bytes]] = {}
        for image in sorted(images) if images is not None else self.sources.loaded:
            if image < len(self.keys) and (build_id := self._own_build_id(image)):
                found.setdefault(self.names[self.keys[image][0]], set()).add(build_id)
        return [
            BuildId(-1, build_id, os.fsdecode(path), CpuMode.USER)
            for path, several in found.items()
            for build_id in (several if len(several) == 1 else ())
        ]

    def _own_build_id(self, number: int) -> bytes:
        """The build-id of an image with frames that the kernel described by device and inode, else nothing. Its file is
        open: others are not opened for it."""
        _name, identity = self.keys[number]
        if self.identities[identity].build_id or not self.identities[identity].inode:
            return b""
        image = self.sources.image(number) if number in self.sources.loaded else None
        return image.build_id if image is not None and image.elf is not None else b""

    def forget_images(self, used: "Set[int]") -> None:
        """Drop the unwind tables of all images but ``used``, and close their files."""
        self.sources.forget([number for number in self.sources.loaded if number not in used])
        # The next round has a new walker.
        self._image_capacity = 0

    @property
    def outgrown(self) -> bool:
        """Whether most of what it keeps is probably of processes and files that are gone: a new one is smaller."""
        return (
            self.replay.mappings.capacity() > MANY_MAPPINGS
            or len(self.names) > MANY_NAMES
            or self.replay.image_total() > MANY_IMAGES
        )

    def close(self) -> None:
        """Store the tables' rows for the next run, and close the memory of processes."""
        self.sources.keep_tables()
        self.deep.close()

    def _see_names(self) -> None:
        """Append the names and file identities that are new in this round."""
        new = self.decoder.columns.names.entries(len(self.names))
        self.names += new
        if new:
            # A new object: the replay holds a view of the old one.
            self._name_bits += bytes(map(bits_of_name, new))
        self.identities += [identity_of(key) for key in self.decoder.columns.identities.entries(len(self.identities))]

    def _walker_for(self, samples: Samples, spaces: tuple[Any, Any, Any], selected: memoryview) -> Walker:
        total = self.replay.image_total()
        if total > len(self.keys):
            self.keys += self.replay.keys()[len(self.keys) :]
        columns = self.replay.mappings.columns()
        if self._walker is None or total > self._image_capacity:
            self._image_capacity = max(INITIAL_IMAGES, 2 * total)
            before = self._walker
            rules = RuleCache(self.sources, columns, self._image_capacity, self._runtime, NOTHING)
            self._walker = Walker(rules, self._slots, self._limits)
            if before is not None:
                self._walker.take_over(before)
                self._walker.ruleless.set_entries(self._known_entries)
            elif self._live:
                self._walker.live.continue_with(self.deep)
        self._walker.set_samples(samples, spaces[0], spaces[1], selected)
        self._walker.rules.set_spaces(columns, self.sources.kernel_image())
        return self._walker

    def _tidy(self) -> None:
        """Between rounds, when nothing refers to them: drop stacks if there are many; if there are many mappings or
        tasks, compact the snapshots and drop the state of exited processes and threads."""
        walker = self._walker
        if walker is not None and walker.rules.stacks.nodes_total() > self._most_nodes:
            walker.rules.reset()
            walker.forget_frames()
            # Entries refer to frames that were dropped.
            self._entries, self._known_entries = Entries(self._limits.entry_samples), []
            walker.ruleless.set_entries([])
            for notify in self.renewed:
                notify()
        mappings, tasks = self.replay.mappings.capacity(), self.replay.task_entries()
        before = self._compacted_sizes
        if mappings <= max(self._most_mappings, GROWTH * before[0]) and tasks <= max(
            MAX_TASK_ENTRIES, GROWTH * before[1]
        ):
            return
        if self._ended is None:
            self._ended, self._rounds_since = {task for task in self.replay.tasks() if not _runs(task)}, 0
        self._rounds_since += 1
        if self._rounds_since > ROUNDS_AFTER_END:
            # An id may belong to a new process meanwhile.
            self._compact({task for task in self._ended if not _runs(task)})

    def _compact(self, ended: set[int]) -> None:
        """Drop all snapshots and the state of exited processes and threads."""
        self.replay.compact(ended)
        self._ended = None
        self._compacted_sizes = self.replay.mappings.capacity(), self.replay.task_entries()
        if self._walker is not None:
            self._walker.rules.set_spaces(self.replay.mappings.columns(), self.sources.kernel_image(), renumbered=True)
            self._walker.forget_frames()


def _runs(task: int) -> bool:
    """Whether there is a process or thread with this id, also one that /proc hides (hidepid, proc(5))."""
    try:
        os.kill(task, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is another user's.
        pass
    return True
