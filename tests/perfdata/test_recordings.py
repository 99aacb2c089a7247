"""Real recordings, made here and now: every record and field as ``perf script -D`` shows it."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from undwarf.perfdata import PerfData, SidebandKind, open_perf_data

pytestmark = pytest.mark.records

PERFS = [path for path in ("perf", "perf-new") if shutil.which(path)]
# perf puts its own directories into PATH.
SCRIPT = "PATH=/usr/bin:/bin; for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/include; cat /proc/self/maps; done >/dev/null"
WORK = ["/bin/sh", "-c", SCRIPT]
OPTIONS = {
    "plain": [],
    "dwarf": ["--call-graph", "dwarf,4096"],
    "frame pointers": ["-g"],
    "two events": ["-e", "cpu-clock,page-faults", "-c", "100000"],
    "group": ["-e", "{cpu-clock,page-faults}:S", "-F", "500"],
    "all CPUs": ["-a", "-F", "97", "--call-graph", "dwarf"],  # 8 KB a sample, of whatever else runs
    "addresses": ["-d", "--phys-data", "--data-page-size", "--code-page-size", "-e", "page-faults", "-c", "1"],
    "switches": ["--switch-events", "-a"],
    "registers": ["--user-regs=ip,sp,bp", "--intr-regs=ip,sp"],
    "zstd": ["-z", "--call-graph", "dwarf"],
    "cgroups": ["--all-cgroups", "-a"],
    "namespaces": ["--namespaces"],
    "one round a buffer": ["-m", "8", "-a", "-g"],
}


def record(perf: str, options: list[str], path: Path) -> None:
    command = [perf, "record", "-q", "-F", "900", *options, "-o", str(path), "--", *WORK]
    if "-c" in options or "-F" in options:
        command = [part for part in command if part != "900"]
        command.remove("-F")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not path.exists():
        pytest.skip(f"perf record: {(done.stderr.strip() or 'failed').splitlines()[-1]}")


HEAD = re.compile(
    r"^(?:(?P<cpu>-?\d+) )?(?P<time>\d+) 0x(?P<at>[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_(?P<kind>\w+)(?P<rest>.*)"
)
SAMPLE = re.compile(r".*?: (-?\d+)/(-?\d+): (?:0x)?([0-9a-f]+) period: (\d+) addr: (?:0x)?([0-9a-f]+)")
MMAP = re.compile(
    r" (-?\d+)/(-?\d+): \[(?:0x)?([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)(?: ([^\]]*))?\]: (\S+) (.*)"
)
COMM = re.compile(r"( exec)?: (.*):(-?\d+)/(-?\d+)$")
TASK = re.compile(r"\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)")


def dumped(perf: str, path: Path) -> Counter[tuple[object, ...]]:
    """What perf shows of every record, in the shape of ``ours``."""
    done = subprocess.run([perf, "script", "-D", "-i", str(path)], capture_output=True, check=False)
    found: Counter[tuple[object, ...]] = Counter()
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        head = HEAD.match(line)
        if head is None:
            continue
        kind, rest, time = head["kind"], head["rest"], int(head["time"])
        if kind == "SAMPLE" and (match := SAMPLE.match(rest)):
            pid, tid, ip, period, addr = match.groups()
            found["SAMPLE", time, int(pid), int(tid), int(ip, 16), int(period), int(addr, 16)] += 1
        elif kind in ("MMAP", "MMAP2") and (match := MMAP.match(rest)):
            pid, tid, start, length, offset, identity, prot, name = match.groups()
            numbers = (int(start, 16), int(length, 16), int(offset, 16))
            found["MMAP", time, int(pid), int(tid), *numbers, identity or "", prot, name] += 1
        elif kind == "COMM" and (match := COMM.match(rest)):
            found["COMM", time, int(match[3]), int(match[4]), bool(match[1]), match[2]] += 1
        elif kind in ("FORK", "EXIT") and (match := TASK.match(rest)):
            found[kind, time, *(int(number) for number in match.groups())] += 1
        else:
            found[kind] += 1
    return found


def identity_text(data: PerfData, number: int) -> str:
    found = data.records().identities[number]
    if found.build_id:
        return f"<{found.build_id.hex()}>"
    return f"{found.major:02x}:{found.minor:02x} {found.inode} {found.generation}"


def ours(data: PerfData) -> Counter[tuple[object, ...]]:
    records = data.records()
    samples, side = records.samples, records.sideband
    mmaps, forks = side.mmaps, side.forks
    found: Counter[tuple[object, ...]] = Counter()
    for n in range(len(samples)):
        addr = samples.addr[n] if samples.addr is not None else 0
        found["SAMPLE", samples.time[n], samples.pid[n], samples.tid[n], samples.ip[n], samples.period[n], addr] += 1
    times = Counter[str]()
    for n in range(len(side)):
        kind, time, pid, tid = SidebandKind(side.kind[n]), side.time[n], side.pid[n], side.tid[n]
        name = records.names[side.name[n]].decode("utf-8", "replace")
        if kind is SidebandKind.MMAP:
            bits = mmaps.protection[n]
            old = not side.identity[n] and bits in (3, 4) and pid == -1
            prot = "".join(letter if bits & bit else "-" for letter, bit in (("r", 1), ("w", 2), ("x", 4)))
            flags = "?"
            where = "" if old else identity_text(data, side.identity[n])
            numbers = (mmaps.start[n], mmaps.length[n], mmaps.page_offset[n])
            found["MMAP", time, pid, tid, *numbers, where, "x" if old else prot + flags, name] += 1
        elif kind is SidebandKind.COMM:
            found["COMM", time, pid, tid, bool(side.misc[n] & 1 << 13), name] += 1
        elif kind in (SidebandKind.FORK, SidebandKind.EXIT):
            found[kind.name, time, pid, tid, forks.parent_pid[n], forks.parent_tid[n]] += 1
        times[kind.name] += 1
    for name, count in records.counts.items():
        if name not in ("SAMPLE", "MMAP", "MMAP2", "COMM", "FORK", "EXIT"):
            found[name] += count
    return found


def without_last_letter(found: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """The fourth letter of a protection says private or shared, which a mapping's columns do not keep."""
    cut: Counter[tuple[object, ...]] = Counter()
    for key, count in found.items():
        if key[0] == "MMAP" and len(str(key[-2])) == 4:
            key = (*key[:-2], str(key[-2])[:3], key[-1])
        if key[0] == "MMAP" and key[7] == "00:00 0 0":
            key = (*key[:7], "00:00 0 0", *key[8:])
        cut[key] += count
    return cut


def without_periods(found: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Samples by time, thread and place, once each."""
    cut = Counter({key: count for key, count in found.items() if key[0] != "SAMPLE"})
    cut.update({(*key[:5], key[6]) for key in found if key[0] == "SAMPLE"})
    return cut


@pytest.mark.skipif(not PERFS, reason="no perf here")
@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize("options", OPTIONS)
def test_same_records_as_perf(tmp_path, perf, options):
    path = tmp_path / "perf.data"
    record(perf, OPTIONS[options], path)
    expected = without_last_letter(dumped(perf, path))
    with open_perf_data(path) as data:
        found = without_last_letter(ours(data))
        assert not list(data.defects)
        if options == "group":
            # The dump has each record once, with the leader's period; what counters counted is in test_samples.
            expected, found = without_periods(expected), without_periods(found)
        # Records of perf itself differ in name, and what it unpacks it does not count.
        own = {key for key in {*expected, *found} if isinstance(key, str) and key not in ("LOST", "LOST_SAMPLES")}
        for key in own:
            expected.pop(key, None)
            found.pop(key, None)
        assert found - expected == Counter()
        assert expected - found == Counter()
        assert sum(found.values()) > 20


@pytest.mark.skipif(not PERFS, reason="no perf here")
@pytest.mark.parametrize("perf", PERFS)
def test_pipe_has_the_features_of_a_file(tmp_path, perf):
    path = tmp_path / "pipe"
    with path.open("wb") as file:
        done = subprocess.run(
            [perf, "record", "-q", "-o", "-", "--", *WORK], stdout=file, stderr=subprocess.PIPE, check=False
        )
    if done.returncode:
        pytest.skip(f"perf record: {done.stderr.decode().strip()}")
    with open_perf_data(path) as data:
        assert data.form == "pipe"
        assert data.features.hostname == os.uname().nodename
        assert data.features.osrelease == os.uname().release
        assert data.features.cmdline
        assert len(data.records().samples) > 20
        assert not list(data.defects)


@pytest.mark.skipif(not PERFS, reason="no perf here")
@pytest.mark.parametrize("perf", PERFS)
def test_directory_of_several_writers(tmp_path, perf):
    path = tmp_path / "folder"
    record(perf, ["--threads", "-a"], path)
    with open_perf_data(path) as data:
        assert data.form == "directory"
        records = data.records()
        assert len(records.samples) > 20
        assert not list(data.defects)
        done = subprocess.run(
            [perf, "script", "-i", str(path), "-F", "time"], capture_output=True, text=True, check=False
        )
        assert len(done.stdout.splitlines()) == len(records.samples)


@pytest.mark.skipif(not PERFS, reason="no perf here")
@pytest.mark.parametrize("perf", PERFS)
def test_dump_begins_at_the_stack_pointer(tmp_path, perf):
    """Stack dump and registers lie where their columns say: sizes as asked, the dump's end before the record's."""
    path = tmp_path / "perf.data"
    record(perf, ["--call-graph", "dwarf,4096"], path)
    with open_perf_data(path) as data:
        samples = data.records().samples
        wanted = data.events[0].sample_regs_user.bit_count()
        seen = 0
        for n in range(len(samples)):
            with data.window(samples.position[n], 65536) as view:
                size = int.from_bytes(view[6:8], "little")
                at = samples.stack_at[n]
                stack = int.from_bytes(view[at : at + 8], "little")
                abi = int.from_bytes(view[samples.regs_at[n] : samples.regs_at[n] + 8], "little")
                assert samples.regs_at[n] + 8 + (8 * wanted if abi else 0) == at
                if stack:
                    seen += 1
                    assert stack <= 4096
                    dynamic = int.from_bytes(view[at + 8 + stack : at + 16 + stack], "little")
                    assert dynamic <= stack
                    assert at + 16 + stack <= size
        assert seen
