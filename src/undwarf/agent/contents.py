"""What is in the current recording: counted and named, for the description that is stored beside it."""

import os
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undwarf.agent.cgroups import CgroupIds, CgroupsOfProcesses, mount_of_hierarchy
from undwarf.agent.jit_names import JitNames, lines_of
from undwarf.agent.jitdump_names import JitDumpNames
from undwarf.agent.kernel_names import KernelNames
from undwarf.agent.labels import of_cgroup, pods_in
from undwarf.integer_constants import NOTHING
from undwarf.live.sampling.live_unwinder import LiveUnwinder, Round
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.unwind.provenance import Provenance

MOST_ADDRESSES = 1 << 17
"""Addresses of code without a file, and nodes of stacks, that are kept of one recording."""

MOST_DUMPS = 32
"""Jitdumps whose functions are remembered."""


@dataclass(slots=True)
class _Images:
    """By image: the process whose private memory it is, if that may be code made at run time."""

    pids: list[int | None]


class Contents:
    """Sees the rounds of a recording, and describes it at its end."""

    def __init__(self, encoder: RecordEncoder, pods: Path, folder: Path) -> None:
        """``folder``: where names of the kernel are kept."""
        self.cgroups = CgroupIds(encoder, mount_of_hierarchy())
        self.samples = 0
        self._pods = pods
        self._processes = CgroupsOfProcesses()
        self._kernel = KernelNames(folder)
        self._jit: JitNames | None = None
        self._dumps: OrderedDict[tuple[int, tuple[str, int]], JitDumpNames] = OrderedDict()
        self._images = _Images([])
        self._unwinder: LiveUnwinder | None = None
        self.restart()

    def restart(self) -> None:
        """Begin another recording."""
        self.samples = 0
        self.cgroups.restart()
        self._ids: set[int] = set()
        self._pids: set[int] = set()
        self._nodes: set[int] = set()
        self._images_hit: set[int] = set()
        self._kernel_addresses: set[int] = set()
        self._jit_addresses: dict[int, set[int]] = defaultdict(set)

    def images(self) -> set[int]:
        """The numbers of the images that have frames in the recording."""
        return self._images_hit

    def forget_unwinder(self) -> None:
        """Keep nothing of an unwinder that was replaced."""
        self._unwinder = self._jit = None

    def see(self, done: Round, unwinder: LiveUnwinder, stacks: dict[str, memoryview]) -> None:
        """Add a round."""
        if unwinder is not self._unwinder:
            self._unwinder = unwinder
            self._images_hit.clear()
            self._images.pids = []
            self._jit = JitNames(unwinder.store.finder)
            self._nodes.clear()
            # Nodes are numbered anew when stacks were dropped.
            unwinder.renewed.append(self._nodes.clear)
        samples = done.samples
        self.samples += len(samples)
        pids = set(samples.pid)
        self._pids |= pids
        if samples.cgroup is not None:
            self._ids.update(samples.cgroup)
        self._processes.see(pids, done.sideband)
        self._see_stacks(set(done.stack), unwinder, stacks)

    def _see_stacks(self, leaves: set[int], unwinder: LiveUnwinder, stacks: dict[str, memoryview]) -> None:
        """Note the addresses of frames whose code is in no file."""
        parents, frames, images = stacks["parent"], stacks["frame"], stacks["image"]
        runtime, provenance = stacks["runtime"], stacks["provenance"]
        if unwinder.replay.image_total() > len(self._images.pids):
            self._images.pids = unwinder.replay.key_pids()
        owners = self._images.pids
        nodes = self._nodes
        if len(nodes) > MOST_ADDRESSES:
            nodes.clear()
        for leaf in leaves:
            node = leaf
            while node != NOTHING and node not in nodes:
                nodes.add(node)
                frame = frames[node]
                if provenance[frame] == Provenance.KERNEL_CHAIN:
                    if len(self._kernel_addresses) < MOST_ADDRESSES:
                        self._kernel_addresses.add(runtime[frame])
                elif images[frame] < len(owners):
                    owner = owners[images[frame]]
                    if owner is not None and len(self._jit_addresses[owner]) < MOST_ADDRESSES:
                        self._jit_addresses[owner].add(runtime[frame])
                self._images_hit.add(images[frame])
                node = parents[node]

    def describe(self) -> dict[str, Any]:
        """Control groups and names of the recording, as its description has them."""
        pods = pods_in(self._pods)
        cgroups: dict[str, int] = {}
        by_id = {id_: path for id_ in sorted(self._ids) if (path := self.cgroups.path(id_))}
        by_pid = {pid: path for pid in sorted(self._pids) if (path := self._processes.path(pid))}
        for path in (*by_id.values(), *by_pid.values()):
            cgroups.setdefault(path, len(cgroups))
        maps = {}
        for pid, addresses in sorted(self._jit_addresses.items()):
            assert self._jit is not None
            if lines := self._jit.lines(pid, addresses) or self._dumped(pid, addresses):
                maps[str(pid)] = lines
        return {
            "cgroups": [{"path": _text(path), **of_cgroup(path, pods)} for path in cgroups],
            "cgroup_ids": {str(id_): cgroups[path] for id_, path in by_id.items()},
            "processes": {str(pid): cgroups[path] for pid, path in by_pid.items()},
            "kallsyms": self._kernel.lines(self._kernel_addresses),
            "perf_maps": maps,
        }

    def _dumped(self, pid: int, addresses: set[int]) -> str:
        """As the lines of a perf map, from the process's jitdump."""
        assert self._unwinder is not None
        mapped = self._unwinder.mapped_dump(pid)
        if mapped is None:
            return ""
        dump = self._dumps.pop((pid, mapped), None) or JitDumpNames(pid, *mapped)
        self._dumps[pid, mapped] = dump
        while len(self._dumps) > MOST_DUMPS:
            self._dumps.popitem(last=False)
        return lines_of(dump.functions(sorted(addresses)).values())


def _text(path: str) -> str:
    """The path as Unicode: bytes that are none become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
