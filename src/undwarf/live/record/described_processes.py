"""What the current file of a recording knows of each process.

A file of several must stand alone, yet most processes of a machine have no samples in a minute, and a program that
starts has some 36 records of 150 bytes. So a file has nothing of a process until the first round in which it has
samples; then it is described as the replay knows it, without reading /proc, and its records follow from then on.
"""

from collections.abc import Sequence

from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.sideband_kinds import SidebandKind

MOST_PIDS = 1 << 22
"""Processes and threads have smaller ids (``PID_MAX_LIMIT``); a task that is being released has -1."""


class DescribedProcesses:
    """Gives the records that make a round readable in a file that began after the processes in it.

    ``pids`` (B) has a bit for each process that the file knows.
    """

    def __init__(self, unwinder: LiveUnwinder, encoder: RecordEncoder) -> None:
        self.pids = bytearray(1 << 13)
        self._unwinder = unwinder
        self._encoder = encoder
        self._tids: set[int] = set()

    def before(self, samples: Samples, order: Sequence[int], sideband: Sideband) -> bytes:
        """Records of processes and threads that this round is the first one of the file to need, with their state and
        time before it; to be called when the round is decoded and not replayed yet."""
        threads = set(zip(samples.pid, samples.tid, strict=True)) if len(samples) else set()
        needed = {pid for pid, _tid in threads if not self._knows(pid)}
        kinds, parents = bytes(sideband.kind), sideband.forks
        at = len(kinds)
        while (at := kinds.rfind(SidebandKind.FORK, 0, at)) >= 0:
            pid, parent = sideband.pid[at], parents.parent_pid[at]
            # A process has the mappings of the one that forked it, a thread the name of the one that made it.
            if pid in needed or self._knows(pid):
                threads.add((parent, parents.parent_tid[at]))
                if not self._knows(parent):
                    needed.add(parent)
        times = [samples.time[order[0]]] if len(order) else []
        times += [time for time in sideband.time[:1] if time]
        return self.of_threads(threads, max(0, min(times, default=1) - 1))

    def of_threads(self, threads: set[tuple[int, int]], moment: int) -> bytes:
        """Records of these (pid, tid), as far as the file does not know them, with their present state at ``moment``
        (ns)."""
        new = sorted((pid, tid) for pid, tid in threads if 0 < pid < MOST_PIDS and tid > 0 and tid not in self._tids)
        out = []
        for pid in sorted({pid for pid, _tid in threads if 0 < pid < MOST_PIDS and not self._knows(pid)}):
            out.append(self._unwinder.describe_mappings(self._encoder, pid, moment))
            self._add(pid)
        out += [self._unwinder.describe_name(self._encoder, pid, tid, moment) for pid, tid in new]
        self._tids.update(tid for _pid, tid in new)
        return b"".join(out)

    def _knows(self, pid: int) -> bool:
        return pid >> 3 < len(self.pids) and bool(self.pids[pid >> 3] >> (pid & 7) & 1) if pid > 0 else True

    def _add(self, pid: int) -> None:
        if pid >> 3 >= len(self.pids):
            self.pids += bytes(max(len(self.pids), (pid >> 3) + 1 - len(self.pids)))
        self.pids[pid >> 3] |= 1 << (pid & 7)
