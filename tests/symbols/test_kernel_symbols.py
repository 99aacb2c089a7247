"""kallsyms, kernel references, announced code."""

import os
from array import array
from types import SimpleNamespace

import pytest

from undwarf.column import zeros
from undwarf.images import Finder, ImageStore
from undwarf.perfdata.records import Sideband
from undwarf.symbols import Resolver
from undwarf.symbols import kernel_symbols as kernel_module
from undwarf.symbols.kernel_symbols import (
    KernelReference,
    KernelSymbol,
    KernelTable,
    kernel_reference,
    kernel_symbols,
    read_text,
    table_of_announced,
    table_of_kallsyms,
)
from undwarf.symbols.symbol_table import SymbolTable

from collections import namedtuple  # isort: skip
from pathlib import Path  # isort: skip

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))

TEXT = """\
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t local_one
ffffffff81000200 W weak_one
ffffffff81000200 T strong_one
ffffffff81000300 r rodata
ffffffff81000400 D data
ffffffff81001000 T _etext
ffffffffc0000000 t init_mod\t[mod]
ffffffffc0000040 t mod_two\t[mod]
ffffffffc0100000 t other_one\t[other]
"""


def read(text: str) -> tuple[SymbolTable | None, str]:
    return table_of_kallsyms(text.encode())


def name_at(symbols: SymbolTable | None, address: int) -> str | None:
    assert symbols is not None
    found = symbols.find(address)
    return None if found is None else symbols.names_at(found)[0].decode()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0xFFFFFFFF80FFFFFF, None),
        (0xFFFFFFFF810000FF, "startup_64"),
        (0xFFFFFFFF81000100, "local_one"),
        (0xFFFFFFFF810003FF, "strong_one"),
        (0xFFFFFFFF81000400, "data"),
        (0xFFFFFFFF81001000, "_etext"),
        (0xFFFFFFFF90000000, None),
        (0xFFFFFFFFC000003F, "init_mod"),
        (0xFFFFFFFFC0000040, "mod_two"),
        (0xFFFFFFFFC0010000, None),
        (0xFFFFFFFFC0100000, "other_one"),
        (0xFFFFFFFFC0200000, None),
    ],
)
def test_kallsyms_lookup(tmp_path: Path, address: int, name: str | None) -> None:
    assert name_at(read(TEXT)[0], address) == name


def test_addresses_hidden_by_kptr_restrict(tmp_path: Path) -> None:
    symbols, why = read("0000000000000000 T _text\n0000000000000000 t foo\n")
    assert symbols is None
    assert "kptr_restrict" in why


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "garbage",
        "zzzz T x\n",
        "12345678123456789 T toolong\n",
        "1000 T\n",
        "1000 T \n",
        "1000",
        "1000 ",
        "1000 T",
        "\0" * 100,
        "1000 r data\n",
    ],
)
def test_text_without_symbols(tmp_path: Path, text: str) -> None:
    assert read(text)[0] is None


def test_lines_that_are_none_are_left_out(tmp_path: Path) -> None:
    symbols, _ = read("junk\n1000 T good\nmore junk T x\n2000 T last")
    assert name_at(symbols, 0x1000) == "good"
    assert name_at(symbols, 0x2000) == "last"


def test_kallsyms_size_limit(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(TEXT)
    assert read_text(str(path), len(TEXT)) == TEXT.encode()
    with pytest.raises(ValueError, match="limit"):
        read_text(str(path), len(TEXT) - 1)


def test_address_of_an_alias_that_lost(tmp_path: Path) -> None:
    symbols, _ = read(TEXT)
    assert symbols is not None
    assert symbols.address_of_name(b"_text") == 0xFFFFFFFF81000000
    assert symbols.address_of_name(b"weak_one") == 0xFFFFFFFF81000200
    assert symbols.address_of_name(b"weak") is None


def records(names: list[bytes], rows: list[tuple[int, int, int, int, int, int]]) -> SimpleNamespace:
    """Side-band rows (kind, name, first, second, third, fourth)."""
    codes = {"kind": "B", "name": "I", "first": "Q", "second": "Q", "third": "Q", "fourth": "I"}
    columns = {name: memoryview(array(code, [row[k] for row in rows])) for k, (name, code) in enumerate(codes.items())}
    rest = {"misc": "H", "time": "Q", "position": "Q", "pid": "i", "tid": "i", "identity": "I"}
    columns |= {name: memoryview(array(code, [0] * len(rows))) for name, code in rest.items()}
    return SimpleNamespace(names=names, identities=[Identity(b"\7" * 20)], sideband=Sideband(len(rows), **columns))


def test_reference_of_the_kernel_mapping() -> None:
    made = records([b"", b"[kernel.kallsyms]_text"], [(2, 0, 0, 0, 0, 0), (1, 1, 5, 6, 0xFFFFFFFF91000000, 0)])
    assert kernel_reference(made) == KernelReference(b"_text", 0xFFFFFFFF91000000)


def test_hidden_reference_is_none() -> None:
    assert kernel_reference(records([b"", b"[kernel.kallsyms]_text"], [(1, 1, 5, 6, 0, 0)])) is None
    assert kernel_reference(records([b""], [])) is None


def resolve_kernel(tmp_path: Path, base: int, addresses: list[int]) -> list[tuple[str, int]]:
    path = tmp_path / "kallsyms"
    path.write_text(TEXT)
    made = records([b"", b"[kernel.kallsyms]_text", b"[mod]"], [(1, 1, base, 0x1000, base, 0)])
    store = ImageStore(made.names, made.identities, None, Finder(kallsyms=str(path), buildid_dir=""))
    kernel = store.image((1, 0))
    images = zeros("I", len(addresses))
    column = zeros("Q", len(addresses))
    for i, address in enumerate(addresses):
        images[i], column[i] = kernel.number, address
    found = Resolver(store, records=made).resolve(images, column)
    return [(found.name[n], found.address[n]) for n in found.number]


def test_kernel_at_its_recorded_base(tmp_path: Path) -> None:
    assert resolve_kernel(tmp_path, 0xFFFFFFFF81000000, [0xFFFFFFFF81000180]) == [("local_one", 0xFFFFFFFF81000100)]


@pytest.mark.parametrize("base", [0xFFFFFFFF91000000, 0xFFFFFFFF80000000])
def test_kernel_moved_by_another_boot(tmp_path: Path, base: int) -> None:
    assert resolve_kernel(tmp_path, base, [base + 0x180, base - 1]) == [("local_one", base + 0x100), ("[unknown]", 0)]


def test_kallsyms_of_the_user_that_cannot_be_used_are_a_problem(tmp_path: Path) -> None:
    store = ImageStore(
        [b"[kernel.kallsyms]"], [Identity()], None, Finder(kallsyms=str(tmp_path / "none"), buildid_dir="")
    )
    image = store.image((0, 0))
    found = Resolver(store)
    assert found.kernel() is None
    assert "none" in found.problems[image.number]
    assert image.problem == found.problems[image.number]


@pytest.mark.parametrize(
    ("changed", "is_known"),
    [
        ({}, True),
        ({"hostname": "elsewhere"}, False),
        ({"osrelease": "0.1"}, False),
        ({"base": 0xFFFFFFFF91000000}, False),
    ],
)
def test_running_kernel_without_a_build_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], is_known: bool
) -> None:
    """Host, release and base stand for the build-id that perf 6.1 does not write into compressed recordings."""
    path = tmp_path / "kallsyms"
    path.write_text(TEXT)
    monkeypatch.setattr(kernel_module, "RUNNING_KALLSYMS", str(path))
    here = os.uname()
    told = {"hostname": here.nodename, "osrelease": here.release, "base": 0xFFFFFFFF81000000} | changed
    base = told.pop("base")
    made = records([b"", b"[kernel.kallsyms]_text"], [(1, 1, base, 0x1000, base, 0)])
    made.identities = [Identity()]
    store = ImageStore(made.names, made.identities, SimpleNamespace(**told), Finder(buildid_dir=""))
    table = Resolver(store, records=made).kernel()
    assert (table is not None and table.source == str(path)) == is_known


def test_announced_code_is_named(tmp_path: Path) -> None:
    names = [b"", b"bpf_prog_1_x", b"bpf_prog_2_y"]
    rows = [(5, 1, 0x1000, 0x100, 1, 0), (5, 2, 0x1000, 0x80, 1, 0), (5, 2, 0x5000, 0x80, 1, 1)]
    made = records(names, rows)
    assert kernel_symbols(made) == [KernelSymbol(0x1000, 0x100, names[1]), KernelSymbol(0x1000, 0x80, names[2])]
    symbols = table_of_announced(kernel_symbols(made))
    assert name_at(symbols, 0x1010) == "bpf_prog_2_y"
    store = ImageStore(names, [Identity()], None, Finder(buildid_dir=""))
    image = store.image((2, 0))
    images, addresses = zeros("I", 1), zeros("Q", 1)
    images[0], addresses[0] = image.number, 0x1020
    assert Resolver(store, records=made).resolve(images, addresses).name == ["bpf_prog_2_y"]


PADDED = """\
ffffffff81000000 T _text
ffffffff81000100 t dies
ffffffff81000130 t __pfx_next
ffffffff81000140 t next
ffffffff81000180 t last
"""


@pytest.mark.parametrize(("address", "begins"), [(0x130, True), (0x131, False), (0x140, False), (0x180, True)])
def test_what_follows_a_call_may_be_the_next_function(tmp_path: Path, address: int, begins: bool) -> None:
    symbols = read(PADDED)[0]
    assert symbols is not None
    table = KernelTable(symbols, 0x1000000, "", symbols)
    assert table.begins(0xFFFFFFFF82000000 + address) == begins


def test_a_caller_in_padding_was_interrupted_at_its_first_instruction(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(PADDED)
    made = records([b"", b"[kernel.kallsyms]_text"], [(1, 1, 0xFFFFFFFF81000000, 0x1000, 0xFFFFFFFF81000000, 0)])
    made.identities = [Identity()]
    store = ImageStore(made.names, made.identities, None, Finder(kallsyms=str(path), buildid_dir=""))
    images, addresses = zeros("I", 4), zeros("Q", 4)
    for frame, address in enumerate((0x13F, 0x12F, 0x134, 0x141)):
        images[frame], addresses[frame] = store.image((1, 0)).number, 0xFFFFFFFF81000000 + address
    found = Resolver(store, records=made).resolve(images, addresses)
    assert [found.name[number] for number in found.number] == ["next", "dies", "__pfx_next", "next"]
    assert found.number[0] == found.number[3]


def test_kernel_symbols_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(TEXT)
    store = ImageStore([], [], None, Finder(kallsyms=str(path), buildid_dir=""))
    resolver = Resolver(store)
    table = resolver.kernel()
    assert table is not None
    assert table is resolver.kernel()
    assert name_at(table.symbols, 0xFFFFFFFF81000100) == "local_one"
    assert len(store) == 1
