"""Tables on disk: what was kept comes back, and what is not as it should be does not."""

import os
import shutil
import subprocess
import sys
import time
from array import array
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.disk.cache import NO_DEBUG, NOT_ASKED, Key, Store, key_of, read, write
from undwarf.tables.model import UnwindTable, describe
from undwarf.tables.rule_set import RuleSet

UNKNOWN, HOLE = 0xFFFFFFFE, 0xFFFFFFFF
KEY = Key("abcd-0.table", b"\xab\xcd", b"m" * 16, 17, "/usr/bin/a")
GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None or os.uname().machine != "x86_64", reason="needs gcc for x86-64")

PROGRAM = """
__attribute__((noinline)) int leaf(int n) { return n * 3 + 1; }
__attribute__((noinline)) int middle(int n) { volatile int a[n + 1]; a[n] = leaf(n); return a[n] + leaf(n + 1); }
__asm__(".text; .globl bare; .type bare, @function; bare: nop; nop; ret; .size bare, . - bare");
int main(int argc, char **argv) { (void)argv; return middle(argc) + leaf(argc); }
"""


def some_rules() -> RuleSet:
    rules = RuleSet()
    rules.expressions.add(b"\x77\x08")
    for offset in range(8, 88, 8):
        rules.add((1, 7, offset, 0), {16: (2, -8, 0)}, column=16, source=1)
    rules.add((4, 0, 0, 0), {16: (2, -8, 0)}, column=16, source=1)
    return rules


def some_columns(count: int = 100) -> tuple[memoryview, memoryview]:
    return memoryview(array("Q", range(0, 16 * count, 16))), memoryview(array("I", [i % 11 for i in range(count)]))


def program(tmp_path: Path, *options: str) -> Path:
    source, made = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    subprocess.run([str(GCC), "-O1", "-o", made, source, *options], check=True, capture_output=True)
    return made


def rules_of(rules: RuleSet, columns: tuple[memoryview, memoryview]) -> list[tuple[int, str]]:
    rows = zip(*columns, strict=True)
    return [(at, str(describe(rules, rule, 62)) if rule < UNKNOWN else hex(rule)) for at, rule in rows]


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    store, rules, columns = Store(tmp_path), some_rules(), some_columns()
    assert store.load(KEY, RuleSet()) is None
    assert store.save(KEY, columns, rules, NO_DEBUG)
    other = RuleSet()
    other.add((1, 6, 8, 0), {}, column=16, source=1)
    found = store.load(KEY, other)
    assert found is not None
    assert found.debug_mark == NO_DEBUG
    assert rules_of(other, found.rows.unpack()) == rules_of(rules, columns)
    assert (store.hits, store.misses, store.written, store.damaged) == (1, 1, 1, 0)


def test_outermost_frames_without_a_call_frame_address_come_back(tmp_path: Path) -> None:
    """SFrame has such rows, and states registers by expressions, too."""
    rules = RuleSet()
    rules.add((0, 0, 0, 0), {16: (1, 0, 0)}, column=16, source=3)
    number = rules.expressions.add(b"\x72\x05")
    rules.add((2, 6, -16, 0), {16: (7, number, 0), 6: (5, 0, 6), 3: (1, 0, 0)}, column=16, source=3, signal=True)
    columns = memoryview(array("Q", [0, 0x10])), memoryview(array("I", [0, 1]))
    store, other = Store(tmp_path), RuleSet()
    assert store.save(KEY, columns, rules, NO_DEBUG)
    found = store.load(KEY, other)
    assert found is not None
    assert rules_of(other, found.rows.unpack()) == rules_of(rules, columns)
    assert describe(other, 0, 62).outermost


@needs_gcc
def test_the_whole_table_of_a_binary_comes_back(tmp_path: Path) -> None:
    path = program(tmp_path)
    table = UnwindTable.from_elf(path)
    table.complete()
    columns = table.functions.all_columns()
    key = key_of(ElfFile.open(path))
    assert key is not None
    data = write(columns, table.rules, key)
    assert data is not None
    other = RuleSet()
    found = read(memoryview(data), other, key)
    assert found is not None
    assert rules_of(other, found.rows.unpack()) == rules_of(table.rules, columns)
    for start, end, rule in table:
        for address in (start, end - 1):
            number = found.rows.rule_at(address)
            assert (describe(other, number, 62) if number < UNKNOWN else None) == rule


def test_every_flipped_byte_is_noticed() -> None:
    data = write(some_columns(), some_rules(), KEY)
    assert data is not None
    assert read(memoryview(data), RuleSet(), KEY) is not None
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 0x10
        assert read(memoryview(broken), RuleSet(), KEY) is None


def test_every_cut_is_noticed() -> None:
    data = write(some_columns(), some_rules(), KEY)
    assert data is not None
    for size in range(len(data)):
        assert read(memoryview(data)[:size], RuleSet(), KEY) is None
    assert read(memoryview(data + b"\0"), RuleSet(), KEY) is None


def test_a_damaged_file_is_counted_and_replaced(tmp_path: Path) -> None:
    store, rules = Store(tmp_path), some_rules()
    store.save(KEY, some_columns(), rules)
    path = tmp_path / KEY.name
    path.write_bytes(path.read_bytes()[:-5] + b"12345")
    assert store.load(KEY, RuleSet()) is None
    assert store.damaged == 1
    assert [defect.kind for defect in store.defects] == ["damaged file in the cache of unwind tables"]
    assert store.save(KEY, some_columns(), rules)
    assert store.load(KEY, RuleSet()) is not None


def test_another_version_is_no_damage(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(KEY, some_columns(), some_rules())
    path = tmp_path / KEY.name
    data = bytearray(path.read_bytes())
    data[16] += 1
    path.write_bytes(data)
    assert store.load(KEY, RuleSet()) is None
    assert store.damaged == 0


@pytest.mark.parametrize("field", ["build_id", "mark"])
def test_a_file_about_another_binary_is_refused(field: str) -> None:
    data = write(some_columns(), some_rules(), KEY)
    assert data is not None
    other = {"build_id": b"\xab\xce", "mark": b"n" * 16}
    key = Key(
        KEY.name,
        other.get("build_id", KEY.build_id) if field == "build_id" else KEY.build_id,
        other["mark"] if field == "mark" else KEY.mark,
        17,
        "",
    )
    assert read(memoryview(data), RuleSet(), key) is None


def test_rules_that_the_machine_has_no_registers_for_are_refused() -> None:
    data = write(some_columns(), some_rules(), KEY)
    assert data is not None
    assert read(memoryview(data), RuleSet(), Key(KEY.name, KEY.build_id, KEY.mark, 16, "")) is None


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.touch])
def test_what_is_no_file_is_a_miss(tmp_path: Path, make: "object") -> None:
    make(tmp_path / KEY.name)
    store = Store(tmp_path)
    assert store.load(KEY, RuleSet()) is None


def test_a_directory_that_cannot_be_used_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "tables")
    assert not store.save(KEY, some_columns(), some_rules())
    assert store.load(KEY, RuleSet()) is None
    assert (store.trim(), store.clear(), store.entries()) == (0, 0, [])


def test_a_table_with_more_rules_than_the_format_has_numbers_is_not_kept() -> None:
    rules = RuleSet(Limits(rules=1 << 17))
    for offset in range(0x10000):
        rules.add((1, 7, offset, 0), {}, column=16, source=1)
    columns = memoryview(array("Q", range(0x10000))), memoryview(array("I", range(0x10000)))
    assert write(columns, rules, KEY) is None
    assert write((columns[0][:0xFFFD], columns[1][:0xFFFD]), rules, KEY) is not None


def test_a_full_rule_set_keeps_nothing(tmp_path: Path) -> None:
    rules = RuleSet(Limits(rules=2))
    with pytest.raises(OverflowError):
        for offset in range(5):
            rules.add((1, 7, offset, 0), {}, column=16, source=1)
    assert not Store(tmp_path).save(KEY, some_columns(1), rules)


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    rules = some_rules()
    data = write(some_columns(), rules, KEY)
    assert data is not None
    store = Store(tmp_path, Limits(store_bytes=3 * len(data)))
    now = time.time()
    for number in range(5):
        key = Key(f"{number}-0.table", KEY.build_id, KEY.mark, 17, KEY.path)
        assert store.save(key, some_columns(), rules)
        os.utime(tmp_path / key.name, (now, now - 100 * ((number * 2) % 5)))
    assert store.trim() == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-0.table", "1-0.table", "3-0.table"]


def test_a_table_larger_than_the_store_is_not_kept(tmp_path: Path) -> None:
    assert not Store(tmp_path, Limits(store_bytes=100)).save(KEY, some_columns(), some_rules())


def test_use_counts_for_what_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(KEY, some_columns(), some_rules())
    path = tmp_path / KEY.name
    long_ago = time.time() - 10 * 86400
    os.utime(path, (long_ago, long_ago))
    assert store.load(KEY, RuleSet()) is not None
    assert path.stat().st_mtime > long_ago + 9 * 86400


def test_drafts_that_a_writer_left_behind_go(tmp_path: Path) -> None:
    old, new = tmp_path / f".{KEY.name}.1.aa", tmp_path / f".{KEY.name}.2.bb"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert Store(tmp_path).trim() == 1
    assert new.exists()


def test_entries_tell_what_is_there_and_clear_removes_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(KEY, some_columns(), some_rules())
    (tmp_path / "junk-0.table").write_bytes(b"junk")
    (tmp_path / "README").touch()
    found = {entry.name: entry for entry in store.entries()}
    assert found[KEY.name].path == "/usr/bin/a"
    assert (found[KEY.name].build_id, found[KEY.name].rows, found[KEY.name].rules) == ("abcd", 100, 11)
    assert found["junk-0.table"].rows == 0
    assert store.clear() == 2
    assert [path.name for path in tmp_path.iterdir()] == ["README"]


WRITER = """
import sys
sys.path[:0] = {path!r}
from tests.tables import test_table_cache
from undwarf.tables.disk.cache import Store
store, rules = Store({directory!r}), test_table_cache.some_rules()
for number in range(300):
    assert store.save(test_table_cache.KEY, test_table_cache.some_columns(50 + number % 100), rules)
"""


def test_processes_that_write_at_once_leave_whole_files(tmp_path: Path) -> None:
    script = WRITER.format(path=sys.path, directory=str(tmp_path))
    store = Store(tmp_path)
    store.save(KEY, some_columns(), some_rules())
    writers = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    loads = 0
    while any(writer.poll() is None for writer in writers) or not loads:
        assert store.load(KEY, RuleSet()) is not None
        loads += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert store.damaged == 0
    assert [path.name for path in tmp_path.iterdir()] == [KEY.name]


@needs_gcc
def test_without_a_build_id_the_file_itself_is_the_key(tmp_path: Path) -> None:
    path = program(tmp_path, "-Wl,--build-id=none")
    key = key_of(ElfFile.open(path))
    assert key is not None
    assert key_of(ElfFile.open(path)) == key
    os.utime(path, ns=(1, 1))
    later = key_of(ElfFile.open(path))
    assert later is not None
    assert later.name != key.name
    # Bytes that are not from a file, as of a container's archive, have no key.
    assert key_of(ElfFile.from_bytes(path.read_bytes())) is None


@needs_gcc
def test_a_stripped_file_with_other_unwind_information_has_its_own_key(tmp_path: Path) -> None:
    path = program(tmp_path)
    bare = tmp_path / "bare"
    subprocess.run(["objcopy", "--strip-all", "--remove-section=.eh_frame_hdr", path, bare], check=True)
    one, other = key_of(ElfFile.open(path)), key_of(ElfFile.open(bare))
    assert one is not None
    assert other is not None
    assert one.build_id == other.build_id
    assert one.name != other.name


def learnt(path: Path, addresses: "tuple[int, ...]", directory: Path) -> UnwindTable:
    """A table that was asked for some addresses, and is kept."""
    elf = ElfFile.open(path)
    key = key_of(elf)
    assert key is not None
    store, rules = Store(directory), RuleSet()
    stored = store.load(key, rules)
    table = UnwindTable.from_elf(
        elf, rules=rules, quick=True, kept=stored.rows if stored is not None else None, holds=lambda: True
    )
    for address in addresses:
        table.rule_at(address)
    assert store.save(key, table.known(), rules, NO_DEBUG if table.exhausted else NOT_ASKED)
    return table


def places(path: Path) -> dict[str, int]:
    listing = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    fields = [line.split() for line in listing.splitlines()]
    return {one[2]: int(one[0], 16) for one in fields if len(one) == 3}


@needs_gcc
def test_kept_rows_answer_without_reading_the_file(tmp_path: Path) -> None:
    path = program(tmp_path)
    at = places(path)
    cold = learnt(path, (at["leaf"], at["main"] + 1), tmp_path / "store")
    assert cold.built == 1
    warm = learnt(path, (at["leaf"], at["main"] + 1), tmp_path / "store")
    assert warm.built == 0
    rule = warm.rule_at(at["main"] + 1)
    assert rule is not None
    assert rule == cold.rule_at(at["main"] + 1)


@needs_gcc
def test_what_was_not_asked_before_is_read_and_kept_beside_the_rest(tmp_path: Path) -> None:
    path = program(tmp_path)
    at = places(path)
    learnt(path, (at["leaf"],), tmp_path / "store")
    assert learnt(path, (at["middle"],), tmp_path / "store").built == 1
    assert learnt(path, (at["leaf"], at["middle"]), tmp_path / "store").built == 0


@needs_gcc
def test_a_hole_is_kept_as_one(tmp_path: Path) -> None:
    path = program(tmp_path)
    at = places(path)
    cold = learnt(path, (at["bare"], at["leaf"]), tmp_path / "store")
    assert cold.rule_at(at["bare"]) is None
    warm = learnt(path, (at["bare"], at["leaf"]), tmp_path / "store")
    assert warm.rule_at(at["bare"]) is None
    assert warm.built == 0


@needs_gcc
def test_holes_are_looked_at_again_when_they_rest_on_another_debug_file(tmp_path: Path) -> None:
    path = program(tmp_path)
    at = places(path)
    learnt(path, (at["bare"], at["leaf"]), tmp_path / "store")
    elf, rules = ElfFile.open(path), RuleSet()
    key = key_of(elf)
    assert key is not None
    stored = Store(tmp_path / "store").load(key, rules)
    assert stored is not None
    table = UnwindTable.from_elf(elf, rules=rules, quick=True, kept=stored.rows, holds=lambda: False)
    assert table.rule_at(at["leaf"]) is not None
    assert table.built == 0
    assert table.rule_at(at["bare"]) is None
    assert table.built >= 1
    assert table.kept is None
    assert table.rule_at(at["leaf"]) is not None


@needs_gcc
def test_rows_of_another_build_of_undwarf_are_no_damage_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path)
    at = places(path)
    learnt(path, (at["leaf"],), tmp_path / "store")
    monkeypatch.setattr("undwarf.tables.disk.cache.build_identity", lambda *_parts: b"another")
    key = key_of(ElfFile.open(path))
    assert key is not None
    store = Store(tmp_path / "store")
    assert (store.directory / key.name).exists()
    assert store.load(key, RuleSet()) is None
    assert store.damaged == 0
    learnt(path, (at["leaf"],), tmp_path / "store")
    assert store.load(key, RuleSet()) is not None
    assert len(store.entries()) == 1


def test_a_home_of_somebody_else_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UNDWARF_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store.from_environment() is not None
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert Store.from_environment() is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"UNDWARF_CACHE_DIR": "/x"}, "/x/tables"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/undwarf/tables"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/undwarf/tables"),
        ({"HOME": "/h"}, "/h/.cache/undwarf/tables"),
        ({"UNDWARF_CACHE_DIR": "off"}, None),
    ],
)
def test_where_tables_are_kept(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str | None
) -> None:
    for name in ("UNDWARF_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    store = Store.from_environment()
    assert (str(store.directory) if store is not None else None) == expected
