"""perf-PID.map files of just-in-time compilers."""

import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.images import Finder, ImageStore
from undwarf.images.container_files import Containers
from undwarf.symbols import Resolver
from undwarf.symbols.perfmap import read_map, table_of_map

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))


def names(text: str, *addresses: int) -> list[str | None]:
    table, _bad = table_of_map(text.encode())
    assert table is not None
    found = [table.find(address) for address in addresses]
    return [None if number is None else table.names_at(number)[0].decode() for number in found]


def test_names_may_hold_spaces() -> None:
    assert names("1000 10 int Foo::bar(int, int)\n", 0x1008) == ["int Foo::bar(int, int)"]


def test_numbers_with_and_without_prefix() -> None:
    assert names("0x1000 0x10 a\n1010 10 b\n", 0x100F, 0x1010, 0x1020) == ["a", "b", None]


def test_last_line_without_newline() -> None:
    assert names("1000 10 a", 0x1000) == ["a"]


def test_later_line_overrides_the_same_range() -> None:
    assert names("1000 10 old\n1000 10 new\n", 0x1000) == ["new"]


def test_later_line_overrides_what_it_overlaps() -> None:
    text = "1000 100 a\n1080 100 b\n1020 8 c\n"
    assert names(text, 0x1000, 0x1020, 0x1028, 0x1080, 0x10FF, 0x117F, 0x1180) == ["a", "c", "a", "b", "b", "b", None]


def test_earlier_line_inside_a_later_one_is_gone() -> None:
    assert names("1010 10 old\n1000 100 new\n", 0x100F, 0x1010, 0x1020) == ["new", "new", "new"]


def test_overlaps_as_a_plain_replay_resolves_them() -> None:
    import random

    draw = random.Random(1)
    lines = [(draw.randrange(2000), draw.randrange(1, 200), f"f{i}") for i in range(300)]
    text = "".join(f"{start:x} {size:x} {name}\n" for start, size, name in lines)
    truth: list[str | None] = [None] * 2500
    for start, size, name in lines:
        truth[start : start + size] = [name] * size
    assert names(text, *range(2500)) == truth


@pytest.mark.parametrize(
    "line", ["junk", "1000", "1000 10", "xyz 10 a", "1000 10000000000000000 a", "1000 g0 a", "-1 5 a"]
)
def test_bad_lines_are_counted_and_left_out(line: str) -> None:
    table, bad = table_of_map(f"{line}\n1000 10 good\n".encode())
    assert table is not None
    assert len(table) == 1
    assert bad == 1


def test_empty_sizes_and_wrapping_ranges_are_left_out() -> None:
    table, _bad = table_of_map(b"1000 0 empty\nffffffffffffffff 10 wraps\n")
    assert table is None


def test_random_bytes_are_survived() -> None:
    for seed in range(200):
        import random

        draw = random.Random(seed)
        table_of_map(bytes(draw.choice(b"0123456789abcdefx \n\0Z") for _ in range(300)))


def write_map(root: Path, pid: int, text: str) -> Path:
    path = root / "tmp" / f"perf-{pid}.map"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_each_process_has_its_own_map(tmp_path: Path) -> None:
    write_map(tmp_path, 1, "1000 10 one\n")
    write_map(tmp_path, 2, "1000 10 two\n")
    store = ImageStore([b"//anon"], [Identity()], None, Finder(symfs=str(tmp_path)))
    number = store.image((0, 0)).number
    images, addresses, pids = zeros("I", 4), zeros("Q", 4), zeros("i", 4)
    for i, pid in enumerate((1, 2, 3, 1)):
        images[i], addresses[i], pids[i] = number, 0x1004, pid
    found = Resolver(store).resolve(images, addresses, pids)
    assert [found.name[n] for n in found.number] == ["one", "two", "[unknown]", "one"]


def test_a_map_that_has_grown_is_read_again_when_asked_to(tmp_path: Path) -> None:
    path = write_map(tmp_path, 1, "1000 10 one\n")
    store = ImageStore([b"//anon"], [Identity()], None, Finder(symfs=str(tmp_path)))
    images, addresses, pids = zeros("I", 3), zeros("Q", 3), zeros("i", 3)
    for i, (pid, address) in enumerate([(1, 0x1000), (1, 0x1010), (2, 0x1000)]):
        images[i], addresses[i], pids[i] = store.image((0, 0)).number, address, pid
    resolver = Resolver(store)

    def named() -> list[str]:
        found = resolver.resolve(images, addresses, pids)
        return [found.name[n] for n in found.number]

    assert named() == ["one", "[unknown]", "[unknown]"]
    with path.open("a") as file:
        file.write("1010 10 two\n")
    write_map(tmp_path, 2, "1000 10 other\n")
    assert named() == ["one", "[unknown]", "[unknown]"]
    resolver.forget_changed_maps()
    assert named() == ["one", "two", "other"]


def test_map_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_map(tmp_path, 1, "1000 10 one\n")
    defects = Defects()

    class Here(Finder):
        def path_of(self, recorded: str) -> str | None:
            return str(path)

    assert read_map(Here(), 1, defects=defects) is not None
    status = path.stat()
    fake = os.stat_result((*status[:4], 4242, *status[5:]))
    monkeypatch.setattr(os, "stat", lambda *_args, **_more: fake)
    assert read_map(Here(), 1, defects=defects) is None
    assert [defect.kind for defect in defects] == ["perf map of another user"]


def test_map_of_a_process_in_a_container(tmp_path: Path) -> None:
    script = "mount -t tmpfs none /tmp && echo '1000 10 inside' > /tmp/perf-$$.map && echo ready && exec sleep 60"
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            pytest.skip("no namespaces here")
        pid = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text())
        finder = Finder()
        assert read_map(finder, pid) is None
        finder.containers = Containers(lambda: [pid])
        table = read_map(finder, pid)
        assert table is not None
        assert table.names_at(0) == [b"inside"]
    finally:
        child.kill()
        child.communicate()
