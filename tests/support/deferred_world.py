"""Recordings of a made-up machine that defers user chains, and what each of their samples has to show.

Processes and threads come and go, mappings are added and replaced, programs are executed; samples wait for their user
chain on one CPU and get it on another, or never, since the record was lost or the thread ended. What the samples show
follows from the world at the time of the sample, which is kept here as plain dictionaries.
"""

import random
from dataclasses import dataclass, field

from tests.support.perfdata.build import CALLCHAIN, FREQ, IDENTIFIER, PLAIN, SAMPLE_ID_ALL, Attr, Build

KERNEL, USER, DEFERRED = 2**64 - 128, 2**64 - 512, 2**64 - 640
KERNEL_PART = (0xFFFFFFFF81000100, 0xFFFFFFFF81001100)
CPUS = 2
ATTR = Attr(sample_type=PLAIN | CALLCHAIN | IDENTIFIER, flags=SAMPLE_ID_ALL | FREQ | 1 << 38 | 1 << 39, ids=[1, 2])
STEP = 0x100000
LENGTH = 0x10000

Frame = tuple[str, int]
"""(file, or nothing where it is not mapped; address)."""


@dataclass
class Expected:
    """One sample: its kernel part and what follows. ``found``: whether its user chain came; ``left``: its thread ended
    before that; ``moved``: mappings changed in between."""

    time: int
    tid: int
    frames: list[Frame]
    found: bool = True
    left: bool = False
    moved: bool = False


@dataclass
class Waiting:
    cookie: int
    addresses: list[int]
    moved: bool = False
    samples: list[tuple[Expected, dict[int, str]]] = field(default_factory=list)


class World:
    """``maps_change``: mappings are replaced and programs executed between samples and their chains. ``leaders_stay``:
    a process's first thread ends last; perf loses what is mapped after its end."""

    def __init__(self, seed: int, order: str = "<", *, maps_change: bool = False, leaders_stay: bool = False) -> None:
        self.build = Build(order)
        self.expected: list[Expected] = []
        self.rounds: list[list[list[bytes]]] = []
        self._random = random.Random(seed)
        self._maps_change = maps_change
        self._leaders_stay = leaders_stay
        self._now: list[list[bytes]] = [[] for _ in range(CPUS)]
        self._time = 1000
        self._next = 10
        self._count = 0
        self._threads: dict[int, int] = {}
        self._space: dict[int, dict[int, str]] = {}
        self._waiting: dict[int, Waiting] = {}
        self._spawn()
        for _ in range(self._random.randint(40, 400)):
            self._step()
        self.rounds.append(self._now)

    def records(self) -> list[bytes]:
        """The records as perf writes them: in each round one CPU's after the other's, in any order of CPUs."""
        found = []
        for buffers in self.rounds:
            for buffer in self._random.sample(buffers, len(buffers)):
                found += buffer
            found.append(self.build.round())
        return found

    def recording(self, form: str, zstd: bool) -> bytes:
        """The whole file."""
        records = self.records()
        features = {}
        if zstd:
            records = self.build.compressed(b"".join(records))
            features[27] = self.build.pack("5I", 0, 1, 1, 2, 1 << 20)
        return (self.build.file if form == "file" else self.build.pipe)([ATTR], records, features)

    # -- what happens -----------------------------------------------------------------------------------------------

    def _step(self) -> None:
        self._time += self._random.randint(1, 20)
        what = self._random.random()
        if what < 0.05 or not self._threads:
            self._spawn()
            return
        tid = self._random.choice(list(self._threads))
        if what < 0.45:
            self._wait(tid)
        elif what < 0.6:
            self._sample_at_once(tid)
        elif what < 0.85 and tid in self._waiting:
            self._come(tid)
        elif what < 0.88:
            self._put(self._deferred(self._random.getrandbits(33) | 1, [0x400100], tid))
            self._lose(tid)
        elif what < 0.91:
            self._end(tid)
        elif what < 0.94:
            self._map(tid)
        elif what < 0.955 and self._maps_change:
            self._execute(tid)
        elif what > 0.97:
            self.rounds.append(self._now)
            self._now = [[] for _ in range(CPUS)]

    def _put(self, record: bytes, cpu: int | None = None) -> None:
        self._now[self._random.randrange(CPUS) if cpu is None else cpu].append(record)

    def _spawn(self) -> None:
        tid = self._next
        self._next += 1
        if self._space and self._random.random() < 0.5:
            pid = self._random.choice(list(self._space))
            self._put(self.build.task(ATTR, 7, pid=pid, ppid=pid, tid=tid, ptid=pid, time=self._time))
        else:
            pid = tid
            self._space[pid] = {}
            self._put(self.build.comm(ATTR, b"p%d" % pid, pid, tid, misc=1 << 13, time=self._time))
            for number in range(self._random.randint(1, 3)):
                self._time += 1
                self._add(pid, tid, STEP * (4 + number))
        self._threads[tid] = pid

    def _add(self, pid: int, tid: int, start: int) -> None:
        name = f"/bin/f{self._random.randint(0, 9)}"
        self._space[pid][start] = name
        self._put(self.build.mmap2(ATTR, name.encode(), pid, tid, start, LENGTH, time=self._time))
        for waiting in self._waiting.values():
            for one, space in waiting.samples:
                one.moved = one.moved or (self._threads.get(one.tid) == pid and start in space)

    def _addresses(self, tid: int, count: int) -> list[int]:
        space = list(self._space[self._threads[tid]])
        # Nothing returns to the first byte of a mapping: the call would lie in front of it.
        return [self._random.choice(space) + self._random.randrange(1, LENGTH) for _ in range(count)]

    def _wait(self, tid: int) -> None:
        cpu = self._random.randrange(CPUS)
        if tid not in self._waiting:
            self._count += 1
            # As the kernel makes them: the CPU in the lower half, a counter that is odd in the upper one.
            cookie = (2 * self._count + 1) << 32 | (cpu + 1)
            self._waiting[tid] = Waiting(cookie, self._addresses(tid, self._random.choice((0, 1, 2, 3, 10, 510))))
        waiting = self._waiting[tid]
        one = self._sample(tid, (KERNEL, *KERNEL_PART, DEFERRED, waiting.cookie), cpu)
        one.found, one.moved = False, waiting.moved
        waiting.samples.append((one, dict(self._space[self._threads[tid]])))

    def _sample_at_once(self, tid: int) -> None:
        addresses = self._addresses(tid, 3)
        one = self._sample(tid, (KERNEL, *KERNEL_PART, USER, *addresses), self._random.randrange(CPUS))
        one.frames += resolved(addresses, self._space[self._threads[tid]])

    def _sample(self, tid: int, chain: tuple[int, ...], cpu: int) -> Expected:
        one = Expected(self._time, tid, [("", address) for address in KERNEL_PART])
        self.expected.append(one)
        pid = self._threads[tid]
        self._put(
            self.build.sample(
                ATTR, ip=KERNEL_PART[0], pid=pid, tid=tid, time=self._time, cpu=cpu, ident=1 + cpu, chain=chain, misc=1
            ),
            cpu,
        )
        return one

    def _deferred(self, cookie: int, addresses: list[int], tid: int) -> bytes:
        body = self.build.words(cookie, len(addresses), *addresses)
        return self.build.plain(ATTR, 22, body, 2, pid=self._threads[tid], tid=tid, time=self._time, ident=1)

    def _come(self, tid: int) -> None:
        """The chain of those that wait: as a rule the right one, once; or it is lost, or another one comes."""
        fate = self._random.random()
        waiting = self._waiting[tid]
        if fate < 0.15:
            self._put(self.build.plain(ATTR, 2, self.build.words(1, 1), time=self._time))
            del self._waiting[tid]
            # The thread's next cookie says that this one's chain is gone.
        elif fate < 0.2:
            self._put(self._deferred(waiting.cookie ^ 1 << 40, waiting.addresses, tid))
            self._lose(tid)
        else:
            self._put(self._deferred(waiting.cookie, waiting.addresses, tid))
            for one, space in waiting.samples:
                one.found = True
                one.frames += resolved(waiting.addresses, space)
            del self._waiting[tid]
            if fate > 0.9:
                self._time += 1
                self._put(self._deferred(waiting.cookie, self._addresses(tid, 2), tid))

    def _lose(self, tid: int) -> None:
        """A chain with another cookie came: what waited was lost."""
        self._waiting.pop(tid, None)

    def _end(self, tid: int) -> None:
        pid = self._threads[tid]
        if self._leaders_stay and tid == pid and list(self._threads.values()).count(pid) > 1:
            return
        if tid in self._waiting and self._random.random() < 0.5:
            # A thread that ends has its chain taken on the way.
            self._come(tid)
            self._time += 1
        for one, _space in self._waiting.pop(tid).samples if tid in self._waiting else ():
            one.left = True
        self._put(self.build.task(ATTR, 4, pid=pid, ppid=1, tid=tid, ptid=1, time=self._time))
        del self._threads[tid]
        if pid not in self._threads.values():
            del self._space[pid]

    def _map(self, tid: int) -> None:
        pid = self._threads[tid]
        old = list(self._space[pid])
        self._add(pid, tid, self._random.choice(old) if self._maps_change else max(old) + STEP)

    def _execute(self, tid: int) -> None:
        pid = self._threads[tid]
        for other, waiting in self._waiting.items():
            if self._threads[other] == pid:
                # Also for samples that are still to come: what the chain shows is of the old program.
                waiting.moved = True
                for one, _space in waiting.samples:
                    one.moved = True
        self._put(self.build.comm(ATTR, b"x%d" % pid, pid, tid, misc=1 << 13, time=self._time))
        self._space[pid] = {}
        self._time += 1
        self._add(pid, tid, STEP * 4)


def resolved(addresses: list[int], space: dict[int, str]) -> list[Frame]:
    """A user chain in an address space. Behind the first address it ends at one that nothing is mapped at."""
    frames: list[Frame] = []
    for address in addresses:
        name = space.get(address - address % STEP, "") if address % STEP < LENGTH else ""
        if not name and frames:
            break
        frames.append((name, address))
    return frames
