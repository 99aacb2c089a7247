"""Samples unwound in rounds: mappings and stacks of one round are valid in the next ones."""

import os
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from tests.support.perfdata import writing
from tests.support.recording import record as record_clock

from undwarf.api import open_recording
from undwarf.elf import ElfFile
from undwarf.images.finder import Finder
from undwarf.live.sampling import live_unwinder
from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.perfdata import SampleField
from undwarf.perfdata.record_writer import RecordEncoder, record

FIELDS = writing.FIELDS | int(SampleField.REGS_USER | SampleField.STACK_USER)
# bp, sp and ip
EVENT = writing.event(sample_type=FIELDS, sample_regs_user=0x1C0, sample_stack_user=32, ids=(1,), flags=1 << 18)
RECORDS = RecordEncoder(EVENT)
STACK = 0x7F0000


def sample(time: int, ip: int = 0x400100, pid: int = 10, *, back: int = 0x400777, words: int = 4) -> bytes:
    """A frame with a frame pointer, whose caller is ``back``, which has no caller."""
    body = struct.pack("=QQIIQIIQQ", 1, ip, pid, pid, time, 0, 0, 1, 0)
    body += struct.pack("=4Q", 2, STACK, STACK, ip)
    memory = struct.pack("=4Q", STACK + 16, back, 0, 0)[: 8 * words]
    body += struct.pack("=Q", len(memory)) + memory + struct.pack("=Q", len(memory))
    return record(9, body, 2)


def mapping(pid: int, start: int, name: bytes = b"//anon", time: int = 1) -> bytes:
    return RECORDS.mmap2(name, pid, pid, start, 0x10000, time=time)


@pytest.fixture
def unwinder():
    unwinder = LiveUnwinder([EVENT], Finder(), live=False)
    yield unwinder
    unwinder.close()


@pytest.fixture
def small():
    """One that compacts snapshots of few mappings."""
    unwinder = LiveUnwinder([EVENT], Finder(), live=False, most_mappings=64)
    yield unwinder
    unwinder.close()


def chains(unwinder: LiveUnwinder, *records: bytes) -> list[list[int]]:
    return chains_of(unwinder, unwinder.unwind([memoryview(b"".join(records))]).stack)


def chains_of(unwinder: LiveUnwinder, nodes: memoryview) -> list[list[int]]:
    stacks = unwinder.stacks
    found = []
    for node in nodes:
        chain = []
        while node != 0xFFFFFFFF:
            chain.append(stacks["runtime"][stacks["frame"][node]])
            node = stacks["parent"][node]
        found.append(chain)
    return found


def test_mappings_of_an_earlier_round_hold(unwinder: LiveUnwinder):
    assert chains(unwinder, mapping(10, 0x400000)) == []
    assert chains(unwinder, sample(5)) == [[0x400100, 0x400776]]
    assert chains(unwinder, sample(6, 0x400200)) == [[0x400200, 0x400776]]


def own_program() -> tuple[bytes, int, int]:
    """The records of this process's interpreter or libpython, its start, and an address in its code."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split()
        if "x" in words[1] and len(words) == 6 and "libpython" in words[5]:
            start, end = (int(number, 16) for number in words[0].split("-"))
            device = tuple(int(number, 16) for number in words[3].split(":"))
            record = RECORDS.mmap2(
                words[5].encode(), 10, 10, start, end - start, int(words[2], 16),
                device=device, inode=(int(words[4]), 0), time=1,
            )  # fmt: skip  # as the kernel does
            return record, start, start + (end - start) // 2
    pytest.skip("this Python has no shared library")


def test_images_that_were_forgotten_are_loaded_again():
    unwinder = LiveUnwinder([EVENT], Finder(), order="eh-frame,fp", live=False)
    record, _start, ip = own_program()
    chains(unwinder, mapping(10, 0x400000), record)
    before = chains(unwinder, sample(5, ip))
    assert unwinder.sources.tables
    (build_id,) = unwinder.build_ids()
    unwinder.forget_images(set())
    assert not unwinder.sources.tables
    assert not unwinder.build_ids()
    assert chains(unwinder, sample(6, ip)) == before
    assert unwinder.build_ids() == [build_id]
    unwinder.forget_images(set(unwinder.sources.loaded))
    assert unwinder.sources.tables
    unwinder.close()


def test_a_name_of_two_files_gets_no_build_id(tmp_path: Path):
    programs = []
    for number in range(2):
        (tmp_path / "a.c").write_text(f"int value = {number}; int main(void) {{ return value; }}")
        subprocess.run(["gcc", "-o", tmp_path / f"a{number}", tmp_path / "a.c"], check=True)
        programs.append(ElfFile.open(tmp_path / f"a{number}").build_id)
    unwinder = LiveUnwinder([EVENT], Finder(), order="eh-frame,fp", live=False)
    path = tmp_path / "a"
    found = []
    for number in range(2):
        os.replace(tmp_path / f"a{number}", path)
        status = path.stat()
        device = os.major(status.st_dev), os.minor(status.st_dev)
        records = RECORDS.mmap2(
            bytes(path), 10 + number, 10, 0x400000, 0x1000, 0x1000, device=device, inode=(status.st_ino, 0), time=1
        )
        unwinder.unwind([memoryview(records + sample(5, 0x400100, 10 + number))])
        found.append([entry.build_id for entry in unwinder.build_ids()])
    assert found == [[programs[0]], []]
    unwinder.close()


def test_buffers_of_several_cpus_are_put_in_order(unwinder: LiveUnwinder):
    one = memoryview(sample(5))
    other = memoryview(mapping(10, 0x400000, time=4))
    done = unwinder.unwind([one, other])
    assert unwinder.stacks["parent"][done.stack[0]] != 0xFFFFFFFF


def test_more_images_than_the_first_walker_holds_are_walked(unwinder: LiveUnwinder):
    assert chains(unwinder, mapping(10, 0x400000), sample(5)) == [[0x400100, 0x400776]]
    many = live_unwinder.INITIAL_IMAGES + 5
    for pid in range(11, 11 + many):
        got = chains(unwinder, mapping(pid, 0x400000, time=6), sample(7, pid=pid))
        assert got == [[0x400100, 0x400776]]
    assert len(unwinder.keys) == many + 1
    assert chains(unwinder, sample(9)) == [[0x400100, 0x400776]]


def test_snapshots_are_compacted_and_mappings_stay(small: LiveUnwinder):
    pid = os.getpid()
    chains(small, mapping(pid, 0x400000), sample(2, pid=pid))
    largest = 0
    for i in range(1, 200):
        start = 0x10000000 + (i << 20)
        assert chains(small, mapping(pid, start, time=10 * i), sample(10 * i + 1, pid=pid)) == [[0x400100, 0x400776]]
        largest = max(largest, small.replay.mappings.capacity())
    assert largest < 4000
    assert chains(small, sample(5000, 0x10100100, pid)) == [[0x10100100, 0x400776]]


def test_nothing_is_kept_of_processes_that_ended(small: LiveUnwinder):
    """Processes that live for a round, ever more of them: also their last samples, a round later, are whole."""
    pid, first = os.getpid(), 2**22 + 5
    chains(small, RECORDS.comm(b"runs", pid, pid), mapping(pid, 0x400000))
    kept, time = [], 1
    for short in range(first, first + 400):
        records = [
            RECORDS.fork(short, short, pid, pid, time=time),
            RECORDS.comm(b"short", short, short, exec_=True, time=time + 1),
            mapping(short, 0x400000, time=time + 2),
            RECORDS.exit(short, short, pid, pid, time=time + 3),
            sample(time + 4, pid=short),
        ]
        late = [sample(time, pid=short - 1)] if short > first else []
        for chain in chains(small, *late, *records):
            assert chain == [0x400100, 0x400776]
        kept.append((small.replay.mappings.capacity(), small.replay.task_entries()))
        time += 10
    assert max(kept[200:]) <= max(kept[:200])
    assert len(small.replay.pids()) < 20
    assert len(small.replay.tasks()) < 20
    assert small.names[small.replay.comm_of(pid)] == b"runs"
    assert chains(small, sample(time, pid=pid)) == [[0x400100, 0x400776]]


def test_threads_that_ended_are_forgotten_and_the_others_are_not(monkeypatch: pytest.MonkeyPatch):
    """Of a process that starts ever new threads, without any new mapping; some of the ends are lost."""
    monkeypatch.setattr(live_unwinder, "MAX_TASK_ENTRIES", 200)
    unwinder = LiveUnwinder([EVENT], Finder(), live=False)
    pid, first = os.getpid(), 2**22 + 5
    other = threading.Thread(target=(stop := threading.Event()).wait)
    other.start()
    tid = other.native_id or 0
    chains(unwinder, RECORDS.comm(b"main", pid, pid), RECORDS.comm(b"other", pid, tid), mapping(pid, 0x400000))
    most = 0
    for short in range(first, first + 1000):
        end = [RECORDS.exit(pid, short, pid, pid, time=short + 1)] if short % 8 else []
        chains(unwinder, RECORDS.fork(pid, short, pid, pid, time=short), *end, sample(short + 2, pid=pid))
        most = max(most, unwinder.replay.task_entries())
    stop.set()
    other.join()
    assert most < 400
    assert unwinder.names[unwinder.replay.comm_of(pid)] == b"main"
    assert unwinder.names[unwinder.replay.comm_of(tid)] == b"other"
    assert chains(unwinder, sample(first + 2000, pid=pid)) == [[0x400100, 0x400776]]
    unwinder.close()


def test_processes_that_ended_are_forgotten_without_any_sample(small: LiveUnwinder):
    for short in range(2**22 + 5, 2**22 + 405):
        start = RECORDS.comm(b"short", short, short, exec_=True)
        assert chains(small, start, mapping(short, 0x400000)) == []
    assert len(small.replay.tasks()) < 20


def test_stacks_are_dropped_and_built_again():
    unwinder = LiveUnwinder([EVENT], Finder(), live=False, most_nodes=8)
    resets = []
    unwinder.renewed.append(lambda: resets.append(1))
    chains(unwinder, mapping(10, 0x400000))
    for i in range(20):
        ip = 0x400100 + 16 * i
        assert chains(unwinder, sample(5 + i, ip)) == [[ip, 0x400776]]
    assert resets


def test_a_sample_of_an_unknown_process_has_its_own_address(unwinder: LiveUnwinder):
    assert chains(unwinder, sample(5)) == [[0x400100]]


def test_columns_of_an_earlier_round_are_not_seen():
    event = writing.event(sample_type=writing.FIELDS, ids=(2,), flags=1 << 18)
    unwinder = LiveUnwinder([EVENT, event], Finder(), live=False)
    bare = record(9, struct.pack("=QQIIQIIQQ", 2, 0x400300, 10, 10, 7, 0, 0, 1, 0), 2)
    assert chains(unwinder, mapping(10, 0x400000), sample(5), sample(6)) == [[0x400100, 0x400776]] * 2
    assert chains(unwinder, bare, bare) == [[0x400300]] * 2
    assert chains(unwinder, sample(9)) == [[0x400100, 0x400776]]
    unwinder.close()


def test_damaged_records_are_skipped(unwinder: LiveUnwinder):
    chains(unwinder, mapping(10, 0x400000), sample(5)[:-8], record(64, bytes(64)), sample(6))
    assert unwinder.decoder.bad_samples + unwinder.decoder.bad_records >= 0
    assert chains(unwinder, sample(7)) == [[0x400100, 0x400776]]


def test_live_stacks_equal_those_of_the_recording_with_dumps(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    options = ["-q", "--unwind", "dump", "--stack-size", "16384", "--no-zstd"]
    assert record_clock(path, *options, "--", program, "5") == 0
    with open_recording(path) as recording:
        profile = recording.profile(runtime=True, inline=False)
        later = [[frame.runtime for frame in sample.stack] for sample in profile.samples]
        stops = list(profile.samples.stop)
        unwinder = LiveUnwinder(recording.events, Finder(), recording.header, live=False)
        with recording.data.window(0, recording.data.stream_size) as view:
            # In two rounds: the second one uses the state that the first one left.
            half = next(p for p in recording.records.samples.position if p > len(view) // 2)
            live, reasons = [], []
            for part in (view[:half], view[half:]):
                done = unwinder.unwind([part])
                live += chains_of(unwinder, done.stack)
                reasons += list(done.stop)
                done.spans.clear()
                part.release()
        unwinder.close()
    assert live == later
    assert reasons == stops
    assert len(later) > 1
    assert max(map(len, later)) > 2
