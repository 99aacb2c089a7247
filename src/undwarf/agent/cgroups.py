"""Control groups of samples: paths by their ids, and by process where the kernel does not record ids."""

import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from undwarf.live import perf_event as pe
from undwarf.live.system_snapshot import read_proc
from undwarf.perfdata import SampleField
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.sideband_kinds import SidebandKind

MOST_PATHS = 16384
"""Control groups that are remembered, and visited when an id is looked for."""
MOST_PROCESSES = 16384
_ESCAPED = re.compile(r"\\([0-7]{3})")


def recorded_by_kernel() -> bool:
    """Whether samples may have the id of their control group (Linux 5.7, ``CONFIG_CGROUP_PERF``)."""
    event = replace(
        pe.software(pe.DUMMY, "dummy"), sample_type=int(SampleField.CGROUP), flags=pe.EXCLUDE_KERNEL | pe.CGROUP
    )
    try:
        os.close(pe.open_event(event, os.getpid(), -1))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise pe.refusal(error, event, "this process") from error
        return False
    return True


def mount_of_hierarchy() -> Path | None:
    """Where the hierarchy of perf's control groups is mounted: that of ``perf_event`` in version 1, else version 2."""
    found = None
    for line in read_proc("/proc/self/mounts", 1 << 20).decode("utf-8", "surrogateescape").splitlines():
        _source, place, kind, options, *_more = [*line.split(" "), "", "", "", ""]
        place = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), place)
        if kind == "cgroup" and "perf_event" in options.split(","):
            return Path(place)
        if kind == "cgroup2" and found is None:
            found = Path(place)
    return found


class CgroupIds:
    """Paths of control groups by id, from the kernel's records and from the mounted hierarchy.

    :meth:`before` gives the records that make samples of the current file readable.
    """

    def __init__(self, encoder: RecordEncoder, root: Path | None) -> None:
        self._encoder = encoder
        self._root = root
        self._paths: dict[int, str] = {}
        self._described: set[int] = set()
        self._unknown: set[int] = set()

    def restart(self) -> None:
        """Begin another file."""
        self._described.clear()
        self._unknown.clear()

    def path(self, id_: int) -> str:
        """The path below the root of the hierarchy; empty if it is not known."""
        return self._paths.get(id_, "")

    def before(self, samples: Samples, sideband: Sideband, names: Sequence[bytes]) -> bytes:
        """Records of the control groups that this round is the first one of the file to have."""
        kinds, at = bytes(sideband.kind), -1
        while (at := kinds.find(SidebandKind.CGROUP, at + 1)) >= 0:
            self._learn(sideband.cgroups.id[at], os.fsdecode(names[sideband.name[at]]))
        new = sorted(set(samples.cgroup) - self._described) if samples.cgroup is not None else []
        if any(id_ not in self._paths and id_ not in self._unknown for id_ in new):
            for id_, path in self._visited():
                self._learn(id_, path)
        self._described.update(new)
        self._unknown.update(id_ for id_ in new if id_ not in self._paths)
        return b"".join(self._encoder.cgroup(id_, os.fsencode(self._paths[id_])) for id_ in new if id_ in self._paths)

    def _learn(self, id_: int, path: str) -> None:
        if len(self._paths) >= MOST_PATHS and id_ not in self._paths:
            # The oldest one.
            del self._paths[next(iter(self._paths))]
        self._paths[id_] = path

    def _visited(self) -> Iterator[tuple[int, str]]:
        """(id, path) of all control groups: the id is the inode of the folder."""
        folders = ["/"] if self._root is not None else []
        count = 0
        while folders and count < MOST_PATHS:
            path = folders.pop()
            count += 1
            try:
                yield os.stat(f"{self._root}{path}").st_ino, path
                with os.scandir(f"{self._root}{path}") as entries:
                    below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                # It is gone.
                continue
            folders += [f"{path.rstrip('/')}/{name}" for name in below]


def path_of_process(pid: int) -> str:
    """The most specific path of a process's control groups; empty if it has ended."""
    lines = os.fsdecode(read_proc(f"/proc/{pid}/cgroup", 1 << 16)).splitlines()
    paths = [line.split(":", 2)[2] for line in lines if line.count(":") >= 2]
    return max(paths, key=len, default="")


class CgroupsOfProcesses:
    """Paths by process, each read once while the process has its pid."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def see(self, pids: set[int], sideband: Sideband) -> None:
        """Read the paths of processes that are new."""
        kinds, at = bytes(sideband.kind), -1
        while (at := kinds.find(SidebandKind.FORK, at + 1)) >= 0:
            self._known.pop(sideband.pid[at], None)
        for pid in pids:
            if pid > 0 and pid not in self._known and (path := path_of_process(pid)):
                if len(self._known) >= MOST_PROCESSES:
                    del self._known[next(iter(self._known))]
                self._known[pid] = sys.intern(path)

    def path(self, pid: int) -> str:
        """The path of a process; empty if it is not known."""
        return self._known.get(pid, "")
