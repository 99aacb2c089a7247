"""What the current file of a recording already knows of each process.

A file of several must stand alone, yet most processes of a machine have no samples in a minute. So a process is
described before the first round in which it has samples, as the replay knows it: nothing is read from /proc. Of a
process that was forked since the file began, the file has all records, if its parent is described.
"""

from collections.abc import Sequence

from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples, Sideband
from undwarf.perfdata.sideband_kinds import SidebandKind

MOST_TID = 1 << 30
"""Threads have smaller ids (``PID_MAX_LIMIT``); a task that is being released has -1."""


class DescribedProcesses:
    """Gives the records that make a round readable in a file that began after the processes in it."""

    def __init__(self, unwinder: LiveUnwinder, encoder: RecordEncoder) -> None:
        self._unwinder = unwinder
        self._encoder = encoder
        self._pids: set[int] = set()
        self._tids: set[int] = set()

    def before(self, samples: Samples, order: Sequence[int], sideband: Sideband) -> bytes:
        """Records of processes and threads that this round is the first one of the file to need, with their state and
        time before it; to be called when the round is decoded and not replayed yet."""
        threads = set(zip(samples.pid, samples.tid, strict=True))
        # A forked process has the mappings of its parent, a thread the name of the one that made it.
        born = []
        kinds, at = bytes(sideband.kind), -1
        parents = sideband.forks
        while (at := kinds.find(SidebandKind.FORK, at + 1)) >= 0:
            threads.add((parents.parent_pid[at], parents.parent_tid[at]))
            born.append((sideband.pid[at], sideband.tid[at]))
        new = sorted(
            (pid, tid)
            for pid, tid in threads
            if pid > 0 and 0 < tid < MOST_TID and (pid not in self._pids or tid not in self._tids)
        )
        self._tids.update(tid for _pid, tid in born)
        out = []
        if new:
            times = [samples.time[order[0]]] if len(order) else []
            times += [time for time in sideband.time[:1] if time]
            before = max(0, min(times, default=1) - 1)
            for pid in dict.fromkeys(pid for pid, _tid in new):
                if pid not in self._pids:
                    out.append(self._unwinder.describe_mappings(self._encoder, pid, before))
                    self._pids.add(pid)
            for pid, tid in new:
                if tid not in self._tids:
                    out.append(self._unwinder.describe_name(self._encoder, pid, tid, before))
                    self._tids.add(tid)
        self._pids.update(pid for pid, _tid in born)
        return b"".join(out)
