"""Address spaces: the replay against a plain model of what the records mean."""

import random
from array import array
from types import SimpleNamespace
from typing import Any

import pytest

from undwarf.spaces.replay import Replay

MMAP, COMM, FORK, EXIT, KSYMBOL = 1, 2, 3, 4, 5
EXEC = 1 << 13
USER = 2
CODE, DATA, WRITABLE = 5, 1, 3
BRACKETS, VDSO = 7, 8
"""Names of what the kernel maps unasked."""
SIDE = {"kind": "B", "misc": "H", "time": "Q", "position": "Q", "pid": "i", "tid": "i"}
SIDE |= {"first": "Q", "second": "Q", "third": "Q", "fourth": "I", "name": "I", "identity": "I"}


Mapping = tuple[int, int, int, int, bool]


class Story:
    """Records and samples in the order they happened."""

    def __init__(self) -> None:
        self.side = {name: array(code) for name, code in SIDE.items()}
        self.samples = {"time": array("Q"), "position": array("Q"), "pid": array("i"), "tid": array("i")}
        self.clock = 0

    def record(self, kind: int, pid: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, **more: int) -> None:
        self.clock += 8
        values = (kind, more.get("misc", USER), self.clock, self.clock, pid, more.get("tid", pid), a, b, c, d)
        values += (more.get("name", 0), 0)
        for column, value in zip(self.side.values(), values, strict=True):
            column.append(value)

    def sample(self, pid: int, tid: int | None = None) -> None:
        self.clock += 8
        for column, value in zip(
            self.samples.values(), (self.clock, self.clock, pid, pid if tid is None else tid), strict=True
        ):
            column.append(value)

    def replay(self, private: bytes = bytes(100), replay: Replay | None = None) -> "Seen":
        """What the samples see; another part of the same story follows with the same ``replay``."""
        replay = replay or Replay()
        count = len(self.samples["pid"])
        columns = replay.run(
            SimpleNamespace(**self.side),
            SimpleNamespace(**self.samples),
            memoryview(array("I", range(count))),
            memoryview(private),
        )
        for column in (*self.side.values(), *self.samples.values()):
            del column[:]
        return Seen(replay, *columns)


class Seen:
    """What each sample saw."""

    def __init__(self, replay: Replay, spaces: Any, kernels: Any, comms: Any) -> None:
        self.replay, self.spaces, self.kernels, self.comms = replay, spaces, kernels, comms
        self.columns = replay.mappings.columns()

    def mappings(self, snapshot: int) -> list[Mapping]:
        columns, keys = self.columns, self.replay.keys()
        at, count = columns["snapshot_at"][snapshot], columns["snapshot_count"][snapshot]
        found = []
        for chunk in columns["lists"][at : at + count]:
            found.extend(
                (
                    columns["starts"][entry],
                    columns["ends"][entry],
                    columns["offsets"][entry],
                    keys[columns["images"][entry]][0],
                    bool(columns["flags"][entry] & 1),
                )
                for entry in range(32 * chunk, 32 * chunk + columns["chunk_count"][chunk])
            )
        return found

    def of(self, sample: int) -> list[Mapping]:
        return self.mappings(self.spaces[sample])


def cut(mappings: list[Mapping], start: int, end: int) -> list[Mapping]:
    left = []
    for first, last, offset, name, code in mappings:
        if last <= start or first >= end:
            left.append((first, last, offset, name, code))
            continue
        if first < start:
            left.append((first, start, offset, name, code))
        if last > end:
            left.append((end, last, offset + end - first, name, code))
    return left


@pytest.mark.parametrize(("seed", "compactions"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 30), (5, 30)])
def test_replay_agrees_with_a_plain_model(seed: int, compactions: int) -> None:
    """``compactions``: how often one of the processes is forgotten, and the others get other indices."""
    chance = random.Random(seed)
    replay = Replay()
    names = bytes([0] * BRACKETS + [4, 6])
    story, model, execs, old, expected = Story(), {}, set(), {}, []
    vdso: set[int] = set()
    for _ in range(6000):
        if chance.random() < compactions / 6000:
            seen = story.replay(names, replay)
            assert [seen.of(i) for i in range(len(expected))] == expected
            expected.clear()
            gone = chance.randrange(1, 6)
            replay.compact({gone})
            for known in (model, old):
                known.pop(gone, None)
            execs.discard(gone)
            vdso.discard(gone)
        pid, what = chance.randrange(1, 6), chance.random()
        if what < 0.6:
            start, length = chance.randrange(3000) * 16, chance.randrange(1, 20) * chance.choice([16, 16, 160])
            protection = chance.choice([CODE, CODE, DATA, WRITABLE])
            name = chance.randrange(9)
            story.record(MMAP, pid, start, length, 3 * start, protection, name=name)
            if pid in execs:
                old[pid], model[pid] = model.get(pid, []), []
                execs.discard(pid)
                vdso.discard(pid)
            elif pid in vdso and name < BRACKETS:
                # Nothing but the program itself maps things after the vdso.
                old[pid] = []
                vdso.discard(pid)
            if name == VDSO and old.get(pid):
                vdso.add(pid)
            model[pid] = cut(model.get(pid, []), start, start + length)
            old[pid] = cut(old.get(pid, []), start, start + length)
            if protection != WRITABLE:
                model[pid] = sorted([*model[pid], (start, start + length, 3 * start, name, protection == CODE)])
        elif what < 0.61:
            story.record(COMM, pid, misc=USER | EXEC, name=1)
            execs.add(pid)
        elif what < 0.65:
            parent = chance.randrange(1, 6)
            story.record(FORK, pid, parent, parent)
            if parent != pid:
                model[pid] = list(model.get(parent, []))
                execs.discard(pid)
                vdso.discard(pid)
                old.pop(pid, None)
        else:
            story.sample(pid)
            before = [] if pid in execs else old.get(pid, [])
            expected.append(sorted([*model.get(pid, []), *before]))
    seen = story.replay(names, replay)
    assert [seen.of(i) for i in range(len(expected))] == expected


def test_two_libraries_taking_turns_at_one_address_are_two_snapshots() -> None:
    story = Story()
    for name in (1, 2, 1):
        story.record(MMAP, 7, 0x1000, 0x1000, 0, CODE, name=name)
        story.sample(7)
    seen = story.replay()
    assert [seen.of(i)[0][3] for i in range(3)] == [1, 2, 1]


def test_unchanged_space_is_one_snapshot() -> None:
    story = Story()
    story.record(MMAP, 7, 0x1000, 0x1000, 0, CODE, name=1)
    for _ in range(5):
        story.sample(7)
    assert len(set(story.replay().spaces)) == 1


def test_samples_inside_exec_still_see_the_old_program() -> None:
    story = Story()
    story.record(MMAP, 7, 0x1000, 0x1000, 0, CODE, name=1)
    story.record(COMM, 7, misc=USER | EXEC, name=3)
    story.sample(7)
    story.record(MMAP, 7, 0x9000, 0x1000, 0, CODE, name=2)
    story.sample(7)
    story.record(MMAP, 7, 0xA000, 0x1000, 0, CODE, name=VDSO)
    story.record(MMAP, 7, 0xB000, 0x1000, 0, DATA, name=BRACKETS)
    story.sample(7)
    story.record(MMAP, 7, 0xC000, 0x1000, 0, CODE, name=5)
    story.sample(7)
    seen = story.replay(bytes([0] * BRACKETS + [4, 6]))
    assert [[mapping[3] for mapping in seen.of(sample)] for sample in range(4)] == [
        [1],
        [1, 2],
        [1, 2, VDSO, BRACKETS],
        [2, VDSO, BRACKETS, 5],
    ]


def test_a_thread_s_first_sample_after_its_exit_is_late() -> None:
    story = Story()
    story.record(COMM, 7, name=5)
    story.sample(7)
    story.record(EXIT, 7, 1, 1)
    story.sample(7)
    story.sample(7)
    story.record(FORK, 7, 1, 1)
    story.sample(7)
    assert list(story.replay().replay.late()) == [1]


def test_synthesized_fork_inherits_nothing() -> None:
    story = Story()
    story.record(MMAP, 7, 0x1000, 0x1000, 0, CODE, name=1)
    story.record(FORK, 8, 7, 7, misc=USER | EXEC)
    story.sample(8)
    assert story.replay().of(0) == []


def test_thread_takes_the_name_of_the_one_that_made_it() -> None:
    story = Story()
    story.record(COMM, 7, name=5)
    story.record(FORK, 7, 7, 7, tid=9)
    story.sample(7, 9)
    assert list(story.replay().comms) == [5]


def test_threads_that_take_turns_have_names_and_exits_of_their_own() -> None:
    story = Story()
    story.record(COMM, 7, name=5)
    story.record(COMM, 7, name=6, tid=9)
    for tid in (7, 7, 9, 9, 7):
        story.sample(7, tid)
    story.record(EXIT, 7, 1, 1, tid=9)
    for tid in (7, 9, 9):
        story.sample(7, tid)
    seen = story.replay()
    assert list(seen.comms) == [5, 5, 6, 6, 5, 5, 6, 6]
    assert list(seen.replay.late()) == [6]


def test_anonymous_code_is_each_process_s_own() -> None:
    story = Story()
    for pid in (7, 8):
        story.record(MMAP, pid, 0x1000, 0x1000, 0, CODE, name=4)
        story.sample(pid)
    seen = story.replay(bytes([0, 0, 0, 0, 1]))
    assert seen.replay.key_pids() == [7, 8]


def test_unregistered_kernel_symbol_is_gone() -> None:
    story = Story()
    story.record(KSYMBOL, -1, 0xFFFFFFFFC0000000, 0x100, 1, 0, name=6, misc=0)
    story.sample(7)
    story.record(KSYMBOL, -1, 0xFFFFFFFFC0000000, 0x100, 1, 1, name=6, misc=0)
    story.sample(7)
    seen = story.replay()
    assert [len(seen.mappings(kernel)) for kernel in seen.kernels] == [1, 0]


def test_mapping_that_wraps_around_the_address_space_is_bounded() -> None:
    story = Story()
    story.record(MMAP, 7, 0xFFFFFFFFFFFFF000, 0xFFFFFFFFFFFFFFFF, 0, CODE, name=1)
    story.sample(7)
    assert story.replay().of(0)[0][1] == 0xFFFFFFFFFFFFFFFF


TEXT, ANONYMOUS = 1, 2
NAMES = bytes([0, 8, 1, 8])
"""Names: none, a file, anonymous memory, another file."""


def over_text(*mappings: tuple[int, int, int]) -> "Seen":
    """Anonymous mappings (start, size, protection) over pages 0x10 to 0x20 of a file, whose file offset is 0x3000."""
    story = Story()
    story.record(MMAP, 7, 0x10000, 0x10000, 0x3000, CODE, name=TEXT)
    for start, size, protection in mappings:
        story.record(MMAP, 7, start, size, start, protection, name=ANONYMOUS)
    story.sample(7)
    return story.replay(NAMES)


@pytest.mark.parametrize(
    "before",
    [[], [(0x12000, 0x4000, WRITABLE)], [(0x12000, 0x2000, WRITABLE), (0x14000, 0x2000, CODE)]],
    ids=["at-once", "written", "halves"],
)
def test_executable_memory_over_code_is_code_of_the_file(before: list[tuple[int, int, int]]) -> None:
    seen = over_text(*before, (0x12000, 0x4000, CODE))
    assert len(seen.replay.images_over_files()) == 1
    assert (0x12000, 0x16000, 0x5000, TEXT, True) in seen.of(0)


def test_memory_over_code_that_is_only_written_is_no_code() -> None:
    assert [(start, code) for start, _end, _offset, _image, code in over_text((0x12000, 0x4000, WRITABLE)).of(0)] == [
        (0x10000, True),
        (0x12000, False),
        (0x16000, True),
    ]


@pytest.mark.parametrize(("start", "size"), [(0xF000, 0x4000), (0x1F000, 0x2000), (0x30000, 0x1000), (0x8000, 0x20000)])
def test_memory_that_sticks_out_of_a_file_s_code_is_its_own(start: int, size: int) -> None:
    assert over_text((start, size, CODE)).replay.images_over_files() == {}


def test_memory_over_code_of_two_files_is_its_own() -> None:
    story = Story()
    story.record(MMAP, 7, 0x10000, 0x1000, 0, CODE, name=TEXT)
    story.record(MMAP, 7, 0x11000, 0x1000, 0, CODE, name=3)
    story.record(MMAP, 7, 0x10000, 0x2000, 0, CODE, name=ANONYMOUS)
    story.sample(7)
    assert story.replay(NAMES).replay.images_over_files() == {}


def test_memory_over_code_that_is_rejected_is_its_own() -> None:
    seen = over_text((0x12000, 0x4000, CODE))
    seen.replay.reject(set(seen.replay.images_over_files()))
    again = Seen(seen.replay, seen.spaces, seen.kernels, seen.comms)
    assert (0x12000, 0x16000, 0x12000, ANONYMOUS, True) in again.of(0)
