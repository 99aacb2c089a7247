"""``undwarf fleet types``, and reports of a store by type: those of its recordings."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from tests.support.documents import document
from tests.support.fleets import SHIPPED, files_of, rows
from tests.support.perfdata.build import IDENTIFIER, PLAIN, Attr, Build
from tests.support.types.programs import LIST, build, function_of
from tests.support.types.recordings import memory_recording, place, recording

from undwarf.cli.main import run
from undwarf.elf import ElfFile
from undwarf.fleet.columns import parquet
from undwarf.fleet.layout import Partition, schema
from undwarf.fleet.merging import merged
from undwarf.fleet.store import Store
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.open_resolver import open_resolver

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "fleet.md"
RECORDINGS = ("particles", "requests", "nested-512", "words-sum")
SERVE = """
struct stats { long count; };
struct request { long kind; };
__attribute__((noinline))
long serve(struct stats *s, struct request *r) { long k = r->kind; s->count = 7; return k * 3; }
int main(int argc, char **argv) { struct stats s; struct request r = {argc}; return (int)serve(&s, &r) + (int)s.count; }
"""
COMPARED = """
struct node { long key; struct node *next; };
__attribute__((noinline))
long walk(struct node *n, long key) { long k = 0; while (n) { if (n->key == key) k += 3; n = n->next; } return k; }
int main(int argc, char **argv) { struct node b = {3, 0}, a = {7, &b}; return (int)walk(&a, argc); }
"""
KERNEL = """
struct inode { int mode; long size; };
struct file { long flags; struct inode *inode; };
long vfs_read(struct file *f) { return f->inode->size + f->flags; }
static __attribute__((noinline)) long same(struct file *f) { return f->flags; }
long one(struct file *f) { return same(f) + 1; }
"""
OTHER = """
static __attribute__((noinline)) long same(long a, long b) { return a / b + (a ^ 12345678) * b % 1000003; }
long two(long a) { return same(a, a + 3) + 1; }
"""

OSRELEASE = 4
"""HEADER_OSRELEASE."""

Command = Callable[..., str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs undwarf in this process; gives what it prints."""

    def call(*arguments: object) -> str:
        code = run([str(one) for one in arguments])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return call


COUNTS = ("weight", "samples", "loads", "stores", "inferred", "inferred_with_high_confidence")
"""Of an instruction's row, what is summed when several are one."""


def of_events(text: str, *, addresses: bool = True) -> Any:
    """The events of a document; without the addresses of code that could not be read, which a store has not: where the
    kernel's functions have no names (this machine has another kernel), rows differ in nothing else, and are one."""
    found = document(text)["events"]
    for event in found:
        if not addresses and event.get("instructions"):
            event["instructions"] = without_addresses(event["instructions"])
        if event.get("instructions"):
            event["instructions"].sort(key=json.dumps)
    return found


def without_addresses(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, those of unread code without an address, and one of those that differ in no other way."""
    read = [row for row in rows if row["how"] != "unread"]
    unread: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["how"] == "unread":
            same = {key: value for key, value in row.items() if key not in COUNTS} | {"address": None}
            total = unread.setdefault(json.dumps(same), same | dict.fromkeys(COUNTS, 0))
            for key in COUNTS:
                total[key] += row[key]
    return [*read, *unread.values()]


@pytest.mark.parametrize("name", RECORDINGS)
def test_types_of_a_store_are_those_of_its_recording(name: str, tmp_path: Path, command: Command) -> None:
    path, store = SHIPPED / f"{name}.data", tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, "--no-cache", "--symfs", SHIPPED, path)
    for options in ([], ["--skid"], ["--skid", "--code"], ["--weight", "samples"]):
        one = of_events(command("types", "--no-cache", "--json", "--symfs", SHIPPED, *options, path), addresses=False)
        many = of_events(command("fleet", "types", store, "--json", *options), addresses=False)
        assert many == one
        assert one[0]["samples"] and one[0]["weight"]


def test_reports_by_type_are_those_of_the_recording(tmp_path: Path, command: Command) -> None:
    path, store = SHIPPED / "words-sum.data", tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, "--no-cache", "--symfs", SHIPPED, path)
    for options in (
        ["-s", "type,typeoff"],
        ["-s", "typecln,sym", "--skid"],
        ["-s", "typeoff", "--skid", "--caller", "main"],
    ):
        asked = ["-g", "none", "--json", *options]
        one = of_events(command("report", "--no-cache", "--symfs", SHIPPED, *asked, path))
        assert of_events(command("fleet", "report", store, *asked)) == one
        assert len(one[0]["rows"]) > 1


def test_the_text_says_what_is_unknown_and_what_helps(tmp_path: Path, command: Command) -> None:
    store = tmp_path / "store"
    path = recording(tmp_path, build(tmp_path, LIST, "list.c", "-O2"), [(0x1000, 0, 3)])
    (tmp_path / "program").unlink()
    command("fleet", "ingest", store, "--workers", 0, path)
    text = command("fleet", "types", store)
    assert "100.00% in code that cannot be read: file not found (program)" in text
    assert "undwarf fleet symbols add STORE" in text


@pytest.fixture
def program(tmp_path: Path) -> tuple[Path, Path]:
    """(a program, a recording of it)."""
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_key = place(binary, "walk", "struct node", "key", "r")
    at_next = place(binary, "walk", "struct node", "next", "r")
    return binary, recording(tmp_path, binary, [(at_key, 0, 3), (at_next, 1, 5)])


def test_what_was_not_there_is_looked_at_later(program: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    binary, path = program
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    expected = of_events(command("types", "--json", path))
    binary.rename(elsewhere)
    said = json.loads(command("fleet", "ingest", store, "--workers", 0, "--json", path))
    assert (said["instructions_looked_at"], said["instructions_described"]) == (2, 0)
    command("fleet", "compact", store, "--workers", 0, "--grace", 0)
    said = json.loads(command("fleet", "symbols", "add", store, elsewhere, "--workers", 0, "--json"))
    assert (said["instructions_looked_at"], said["instructions_described"]) == (2, 2)
    assert of_events(command("fleet", "types", store, "--json")) == expected
    assert expected[0]["types"][0]["type"] == "struct node"
    command("fleet", "compact", store, "--workers", 0, "--grace", 0)
    opened = Store(str(store))
    at = "SELECT count(*), count(DISTINCT frame), min(described) FROM types WHERE precision = 'at'"
    assert rows(opened, at) == [(2, 2, True)]
    before = files_of(opened)
    command("fleet", "symbols", "add", store, elsewhere, "--workers", 0)
    assert files_of(opened) == before


def test_a_debug_file_can_be_given_alone(tmp_path: Path, command: Command) -> None:
    if shutil.which("objcopy") is None:
        pytest.skip("no objcopy")
    # A conditional jump is of the comparison before it, which a timer's sample there waits for only without types.
    binary = build(tmp_path, COMPARED, "compared.c", "-O2")
    resolver = open_resolver(ElfFile.open(binary))
    assert resolver is not None
    walk = resolver.instruction(function_of(binary, "walk")[0])
    assert walk is not None
    path = recording(tmp_path, binary, [(made.address, 0, 1 + k) for k, made in enumerate(walk[0])])
    expected = [of_events(command("types", "--json", *options, path)) for options in ([], ["--skid"])]
    assert expected[0][0]["types"][0]["type"] == "struct node"
    subprocess.run(["objcopy", "--only-keep-debug", binary, tmp_path / "program.debug"], check=True)
    subprocess.run(["objcopy", "--strip-debug", binary], check=True)
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, path)
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert list(event["untyped"]) == ["no DWARF and no BTF"]
    command("fleet", "symbols", "add", store, tmp_path / "program.debug", "--workers", 0)
    for options, one in zip(([], ["--skid"]), expected, strict=True):
        assert of_events(command("fleet", "types", store, "--json", *options)) == one
    for stop in ("at", "late"):
        query = f"SELECT frame FROM accesses(stop := '{stop}') WHERE member = 'key'"
        assert len(json.loads(command("fleet", "query", store, query, "--format", "json"))) >= 2


def test_ingest_looks_at_each_instruction_once(program: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    _binary, path = program
    store, copy = tmp_path / "store", tmp_path / "copy.data"
    copy.write_bytes(path.read_bytes() + bytes(8))
    for one, looked_at in ((path, 2), (copy, 0)):
        said = json.loads(command("fleet", "ingest", store, "--workers", 0, "--json", one))
        assert said["recordings"][0]["state"] == "taken"
        assert said["instructions_looked_at"] == looked_at
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert (event["samples"], event["typed"]) == (16, 16000)


def test_files_are_the_same_however_recordings_came(
    program: tuple[Path, Path], tmp_path: Path, command: Command
) -> None:
    _binary, path = program
    at = (1_795_824_000, 1_795_824_000)
    paths = [path, *(shutil.copy(SHIPPED / f"{name}.data", tmp_path) for name in RECORDINGS)]
    for one in paths:
        os.utime(one, at)
    made = []
    for name, workers, groups in (("one", 2, [paths]), ("other", 0, [[one] for one in reversed(paths)])):
        store = tmp_path / name
        for group in groups:
            command("fleet", "ingest", store, "--workers", workers, "--symfs", SHIPPED, *group)
        command("fleet", "symbols", "add", store, "--workers", workers, "--symfs", SHIPPED)
        command("fleet", "compact", store, "--workers", 0, "--grace", 0)
        made.append(files_of(Store(str(store))))
    assert made[0] == made[1]
    assert sum(one.startswith("types/") for one in made[0]) == 1


def test_latencies_and_levels_of_memory_are_kept(tmp_path: Path, command: Command) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_key = place(binary, "walk", "struct node", "key", "r")
    miss, hit = 0x1068100842, 0x68100142
    same = {"ip": at_key, "addr": 0x7000, "weight": 30, "data_src": hit, "data_page": 4096}
    path = memory_recording(
        tmp_path, binary, [same, same, same | {"weight": 200, "data_src": miss}, same | {"weight": 0}]
    )
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, path)
    for options in ([], ["--weight", "latency"], ["--weight", "samples", "--code"]):
        one = of_events(command("types", "--json", *options, path))
        assert of_events(command("fleet", "types", store, "--json", *options)) == one
    (row,) = of_events(command("fleet", "types", store, "--json"))[0]["types"]
    assert (row["latency_cycles"], row["timed_samples"], row["memory"]["pages"]) == (260, 3, {"4K": 4000})


def test_samples_that_stop_differently_are_of_other_accesses(tmp_path: Path, command: Command) -> None:
    binary = build(tmp_path, SERVE, "serve.c", "-O1")
    after = place(binary, "serve", "struct stats", "count", "w")
    elf = ElfFile.open(binary)
    resolver = open_resolver(elf)
    assert resolver is not None
    found = resolver.instruction(after)
    assert found is not None
    after = found[0][found[1] + 1].address
    timer = Attr(sample_type=PLAIN | IDENTIFIER, type=1, config=0, ids=[7], size=128)
    breakpoint = Attr(sample_type=PLAIN | IDENTIFIER, type=5, ids=[8], size=128)
    samples = [{"ip": after, "ident": ident, "misc": 2} for ident in (7, 8, 7, 8, 8)]
    path = memory_recording(tmp_path, binary, samples, timer, breakpoint)
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, path)
    for options in ([], ["--skid"]):
        one = of_events(command("types", "--json", *options, path))
        assert of_events(command("fleet", "types", store, "--json", *options)) == one
    assert [row["type"] for event in one for row in event["types"]] == ["struct request", "struct stats"]
    assert rows(Store(str(store)), "SELECT precision, type FROM types ORDER BY ALL") == [
        ("after", "struct stats"),
        ("at", None),
        ("late", "struct request"),
    ]


def kernel(folder: Path) -> Path:
    """A kernel, as far as names and types go: linked where kernels are, with two functions of one name."""
    made, sources = folder / "vmlinux", [folder / "kernel.c", folder / "other.c"]
    for source, text in zip(sources, (KERNEL, OTHER), strict=True):
        source.write_text(text)
    flags = ["-g", "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-mcmodel=kernel", "-mno-red-zone"]
    flags += [
        "-fcf-protection=none",
        "-Wl,--build-id",
        "-Wl,-Ttext=0xffffffff81000000",
        "-Wl,-e,vfs_read",
        "-fno-ipa-cp",
    ]
    done = subprocess.run(["gcc", *flags, "-o", made, *sources], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc does not build for x86-64 kernels: {done.stderr[-300:]}")
    return made


def module(folder: Path) -> Path:
    """A module of a kernel, which is not linked."""
    source, part, made = folder / "driver.c", folder / "driver.o", folder / "driver.ko"
    source.write_text(KERNEL + 'long this_module __attribute__((section(".gnu.linkonce.this_module")));\n')
    flags = ["-g", "-O2", "-ffreestanding", "-fno-pic", "-mcmodel=kernel", "-mno-red-zone", "-fcf-protection=none"]
    for arguments in (["gcc", "-c", *flags, "-o", part, source], ["ld", "-r", "--build-id=sha1", "-o", made, part]):
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"gcc does not build modules of x86-64 kernels: {done.stderr[-300:]}")
    return made


def test_instructions_of_a_kernels_module_are_found_too(tmp_path: Path, command: Command) -> None:
    from undwarf.symbols.kernel_modules import symbols_of_module

    driver = module(tmp_path)
    elf = ElfFile.open(driver)
    symbols = symbols_of_module(elf)
    assert symbols is not None and elf.build_id
    b, attr, start = Build(), Attr(sample_type=PLAIN, type=1, config=0, period=1000), 0xFFFFFFFFC0001000
    low = symbols.address_of_name(b"vfs_read")
    assert low is not None
    mapped = b.mmap2(
        attr, bytes(driver), pid=0xFFFFFFFF, tid=0, start=start, length=0x4000, pgoff=0,
        build_id=bytes(elf.build_id), misc=1,
    )  # fmt: skip  # rows of fields
    samples = [
        b.sample(attr, ip=start + low + k, pid=10, tid=10, time=1000 + k, cpu=0, period=1000, misc=1) for k in range(12)
    ]
    path, store = tmp_path / "module.data", tmp_path / "store"
    path.write_bytes(b.file([attr], [mapped, *samples]))
    kallsyms = tmp_path / "kallsyms"
    kallsyms.write_text(f"ffffffff81000000 T _text\n{start + low:016x} t vfs_read\t[driver]\n")
    (expected,) = of_events(command("types", "--json", path))
    assert "struct inode" in {row["type"] for row in expected["types"]}
    driver = driver.rename(tmp_path / "elsewhere.ko")
    command("fleet", "ingest", store, "--workers", 0, "--kallsyms", kallsyms, path)
    assert rows(Store(str(store)), "SELECT DISTINCT kind FROM images") == [("module",)]
    command("fleet", "symbols", "add", store, driver, "--workers", 0)
    assert of_events(command("fleet", "types", store, "--json")) == [expected]


def kernel_recording(folder: Path, vmlinux: Path, moved: int) -> tuple[Path, Path, list[int]]:
    """(a recording with a sample at each instruction of two functions, its kallsyms, their addresses in the file): the
    kernel ran ``moved`` bytes above its file's addresses."""
    elf = ElfFile.open(vmlinux)
    symbols, resolver = symbols_of_elf(elf), open_resolver(elf)
    assert symbols is not None and resolver is not None
    names = {name: symbols.address_of_name(name.encode()) for name in ("vfs_read", "one", "same")}
    addresses = []
    for low in names.values():
        assert low is not None
        found = resolver.instruction(low)
        assert found is not None
        addresses += [made.address for made in found[0]]
    b, attr = Build(), Attr(sample_type=PLAIN, type=1, config=0, period=1000)
    text = 0xFFFFFFFF81000000 + moved
    mapped = b.mmap2(
        attr, b"[kernel.kallsyms]_text", pid=0xFFFFFFFF, tid=0, start=text, length=0x100000, pgoff=text,
        build_id=bytes(elf.build_id), misc=1,
    )  # fmt: skip  # rows of fields
    samples = [
        b.sample(attr, ip=address + moved, pid=10, tid=10, time=1000 + k, cpu=0, period=1000, misc=1)
        for k, address in enumerate(addresses)
    ]
    path, kallsyms = folder / "kernel.data", folder / "kallsyms"
    path.write_bytes(b.file([attr], [mapped, *samples], {OSRELEASE: b.string("6.1-test")}))
    lines = [(text, "_text"), *((low + moved, name) for name, low in names.items() if low is not None)]
    kallsyms.write_text("".join(f"{address:016x} T {name}\n" for address, name in sorted(lines)))
    return path, kallsyms, addresses


def test_a_kernels_instructions_are_found_by_name_and_offset(tmp_path: Path, command: Command) -> None:
    vmlinux = kernel(tmp_path)
    path, kallsyms, _addresses = kernel_recording(tmp_path, vmlinux, 0x2000000)
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, "--kallsyms", kallsyms, path)
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert (event["typed"], list(event["unread"])) == (0, ["no vmlinux with the kernel's build-id"])
    command("fleet", "symbols", "add", store, vmlinux, "--workers", 0)
    (expected,) = of_events(command("types", "--json", "--kallsyms", kallsyms, "--vmlinux", vmlinux, path))
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert {row["type"] for row in event["types"]} == {"struct file", "struct inode"}
    assert event == expected


def test_a_boot_image_without_symbols_will_do_with_kallsyms(tmp_path: Path, command: Command) -> None:
    vmlinux = kernel(tmp_path)
    path, kallsyms, _addresses = kernel_recording(tmp_path, vmlinux, 0x2000000)
    image = tmp_path / "root" / "boot" / "vmlinuz-6.1-test"
    image.parent.mkdir(parents=True)
    keep = ["objcopy", "--strip-all", "--keep-section=.debug_*", vmlinux, image]
    if shutil.which("objcopy") is None or subprocess.run(keep, capture_output=True).returncode:
        pytest.skip("no objcopy that keeps sections")
    vmlinux.unlink()
    files = ["--kallsyms", kallsyms, "--symfs", tmp_path / "root"]
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, *files, path)
    (expected,) = of_events(command("types", "--json", *files, path))
    assert {row["type"] for row in expected["types"]} == {"struct file", "struct inode"}
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert event == expected


def test_another_kernel_is_not_taken(tmp_path: Path, command: Command) -> None:
    vmlinux = kernel(tmp_path)
    path, kallsyms, _addresses = kernel_recording(tmp_path, vmlinux, 0)
    store = tmp_path / "store"
    command("fleet", "ingest", store, "--workers", 0, "--kallsyms", kallsyms, path)
    other = build(tmp_path, LIST, "list.c", "-O2")
    command("fleet", "symbols", "add", store, other, "--workers", 0)
    assert rows(Store(str(store)), "SELECT DISTINCT described FROM types") == [(False,)]


def types_table(*changes: dict[str, Any]) -> Any:
    """A table of types with a row for each change of an unread one."""
    plain = {
        "frame": bytes(16), "precision": "at", "evidence": "unread", "reason": "file not found", "described": False,
        "inferred": False, "consumed": False, "address": 0, "candidates": [],
    }  # fmt: skip  # rows of fields
    return pyarrow.Table.from_pylist([plain | change for change in changes], schema=schema("types"))


def test_the_best_row_counts_in_whatever_order_they_come() -> None:
    unread, code = {}, {"evidence": None, "reason": "no DWARF and no BTF"}
    typed = {"evidence": "variable", "reason": None, "type": "struct a", "member_offset": 0, "described": True}
    untyped = {"evidence": None, "reason": "ambiguous type", "described": True}
    tables = [types_table(one) for one in (unread, code, typed, untyped)]
    for order in (tables, tables[::-1], tables[2:] + tables[:2]):
        (row,) = merged("types", order).to_pylist()
        assert row["type"] == "struct a"
        first = merged("types", [merged("types", order[:2]), merged("types", order[2:])])
        assert first.to_pylist() == [row]
    (row,) = merged("types", tables[:2]).to_pylist()
    assert row["reason"] == "no DWARF and no BTF"


def test_hostile_rows_are_shown_escaped(program: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    _binary, path = program
    store = Store(str(tmp_path / "store"))
    command("fleet", "ingest", store.address, "--workers", 0, "--no-symbols", path)
    ids = [row[0] for row in rows(store, "SELECT id FROM frames WHERE sampled > 0 ORDER BY id")]
    hostile = types_table(
        {"frame": ids[0], "type": "struct \x1b[2J", "member": "\n\x9b", "member_offset": -(1 << 63),
         "type_size": (1 << 63) - 1, "access_size": -5, "described": True, "evidence": "\x07", "access": "rwx",
         "candidates": [None, "\x1b"], "layout": -1, "instruction": "\x1b", "reason": None},
        {"frame": ids[1], "described": None, "evidence": None, "reason": "\x1b[1m", "address": None,
         "candidates": None, "inferred": None},
    )  # fmt: skip  # rows of fields
    store.commit([store.put(Partition("types"), parquet("types", hostile), 2)])
    for options in ([], ["--code"], ["--skid"]):
        text = command("fleet", "types", store.address, *options)
        assert "\x1b" not in text and "\x9b" not in text and "\x07" not in text
        assert "struct" in text
    document(command("fleet", "types", store.address, "--json", "--code"))
    assert "\x1b" not in command("fleet", "report", store.address, "-s", "typeoff", "-g", "none")


def test_the_example_of_the_guide_works(program: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    _binary, path = program
    store = tmp_path / "profiles"
    command("fleet", "ingest", store, "--workers", 0, path)
    (query,) = re.findall(r"```sql\n(.*?accesses\(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    found = json.loads(command("fleet", "query", store, query, "--format", "json"))
    assert [(row["type"], row["member"], row["weight"]) for row in found] == [
        ("struct node", "next", 5000),
        ("struct node", "key", 3000),
    ]


def test_nothing_is_looked_at_without_symbols(program: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    _binary, path = program
    store = tmp_path / "store"
    os.environ.pop("UNDWARF_DEBUGINFOD", None)
    command("fleet", "ingest", store, "--workers", 0, "--no-symbols", path)
    (event,) = of_events(command("fleet", "types", store, "--json"))
    assert event["unread"] == {"not looked at: undwarf fleet symbols add": 8000}
    command("fleet", "symbols", "add", store, "--workers", 0)
    assert of_events(command("fleet", "types", store, "--json")) == of_events(command("types", "--json", path))
