"""Symbol tables: which symbols count, where they end, which alias is shown, lookups."""

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.elf_builder import Section, Symbol, program

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.symbol_table import SymbolTable

NOTYPE, OBJECT, FUNC, SECTION, IFUNC = 0, 1, 2, 3, 10
LOCAL, GLOBAL, WEAK = 0, 1, 2


def table(*symbols: Symbol, **options: object) -> SymbolTable:
    found = symbols_of_elf(ElfFile.from_bytes(program(symbols=list(symbols), **options).build()))
    assert found is not None
    return found


def name_at(symbols: SymbolTable, address: int) -> str | None:
    found = symbols.find(address)
    return None if found is None else symbols.names_at(found)[0].decode()


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("big", [True, False])
def test_every_class_and_byte_order(is_64: bool, big: bool) -> None:
    symbols = table(Symbol("one", 0x1000, 16), Symbol("two", 0x1010, 16), is_64=is_64, big=big)
    assert [name_at(symbols, address) for address in (0xFFF, 0x1000, 0x100F, 0x1010, 0x1020)] == [
        None,
        "one",
        "one",
        "two",
        None,
    ]


@pytest.mark.parametrize(
    ("symbol", "counts"),
    [
        (Symbol("f", 0x1000, 4, FUNC), True),
        (Symbol("f", 0x1000, 4, IFUNC), True),
        (Symbol("f", 0x1000, 4, NOTYPE), True),
        (Symbol("f", 0x1000, 4, NOTYPE, other=1), False),
        (Symbol("f", 0x1000, 4, NOTYPE, other=2), False),
        (Symbol("f", 0x1000, 4, FUNC, other=2), True),
        (Symbol("f", 0x1000, 4, OBJECT), True),
        (Symbol("f", 0x3000, 4, OBJECT, section=".data"), False),
        (Symbol("f", 0x1000, 4, SECTION), False),
        (Symbol("", 0x1000, 4, FUNC), False),
        (Symbol("f", 0x1000, 4, FUNC, section=0), False),
        (Symbol("f", 0x1000, 4, FUNC, section=0xFFF1), False),
        (Symbol("f", 0x1000, 4, FUNC, section=999), False),
    ],
)
def test_which_symbols_count(symbol: Symbol, counts: bool) -> None:
    symbols = table(symbol, Symbol("other", 0x1080, 4))
    assert name_at(symbols, symbol.value) == ("f" if counts else None)


def test_section_number_in_the_extended_table() -> None:
    elf = program()
    elf.add_symbols([Symbol("f", 0x1000, 4, section=0xFFFF)])
    number = [section.name for section in elf.sections].index(".text") + 1
    elf.sections.append(
        Section(".symtab_shndx", b"\0" * 4 + number.to_bytes(4, "little"), 18, link=".symtab", entry_size=4)
    )
    symbols = symbols_of_elf(ElfFile.from_bytes(elf.build()))
    assert symbols is not None
    assert name_at(symbols, 0x1000) == "f"


def test_mapping_symbols_of_arm_are_not_functions() -> None:
    arm = table(Symbol("$x", 0x1000, 0, NOTYPE), Symbol("$d.1", 0x1004, 0, NOTYPE), Symbol("f", 0x1000, 8), machine=183)
    assert name_at(arm, 0x1004) == "f"
    x86 = table(Symbol("$x", 0x1004, 0, NOTYPE), Symbol("f", 0x1000, 4))
    assert name_at(x86, 0x1004) == "$x"


def test_thumb_bit_is_not_part_of_the_address() -> None:
    arm = table(Symbol("f", 0x1001, 4), machine=40, is_64=False)
    assert name_at(arm, 0x1000) == "f"


def test_symbol_without_a_size_reaches_to_the_next() -> None:
    symbols = table(Symbol("a", 0x1000), Symbol("b", 0x1040, 4))
    assert name_at(symbols, 0x103F) == "a"


def test_symbol_without_a_size_ends_with_its_section() -> None:
    symbols = table(Symbol("a", 0x10F0), Symbol("far", 0x9000, 4))
    assert name_at(symbols, 0x10FF) == "a"
    assert name_at(symbols, 0x1100) is None


def test_between_sized_symbols_is_nothing() -> None:
    symbols = table(Symbol("a", 0x1000, 4), Symbol("b", 0x1010, 4))
    assert name_at(symbols, 0x1008) is None


def test_behind_a_nested_symbol_is_the_one_around_it() -> None:
    symbols = table(Symbol("outer", 0x1000, 0x40), Symbol("inner", 0x1010, 8), Symbol("last", 0x1018, 4))
    assert [name_at(symbols, address) for address in (0x100F, 0x1010, 0x1017, 0x1018, 0x1020, 0x1040)] == [
        "outer",
        "inner",
        "inner",
        "last",
        "outer",
        None,
    ]


RANKED = [
    Symbol("global", 0x1000, 4, FUNC, GLOBAL),
    Symbol("local", 0x1000, 4, FUNC, LOCAL),
    Symbol("weak", 0x1000, 4, FUNC, WEAK),
    Symbol("label", 0x1000, 4, NOTYPE, GLOBAL),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_alias_by_type_and_binding_whatever_their_order(order: tuple[int, ...]) -> None:
    symbols = table(*(RANKED[i] for i in order))
    assert name_at(symbols, 0x1000) == "global"


@pytest.mark.parametrize("k", range(3))
def test_better_alias_wins_pairwise(k: int) -> None:
    for pair in (RANKED[k : k + 2], RANKED[k : k + 2][::-1]):
        assert name_at(table(*pair), 0x1000) == RANKED[k].name


def test_alias_with_a_size_wins() -> None:
    for symbols in ([("sized", 4, LOCAL), ("empty", 0, GLOBAL)], [("empty", 0, GLOBAL), ("sized", 4, LOCAL)]):
        made = [Symbol(name, 0x1000, size, FUNC, binding) for name, size, binding in symbols]
        if symbols[-1][0] == "empty":
            continue  # the last one reaches to the next symbol, so it has a size, too
        assert name_at(table(*made, Symbol("next", 0x1040, 4)), 0x1000) == "sized"


def test_tied_aliases_are_kept_in_order() -> None:
    symbols = table(*(Symbol(name, 0x1000, 4) for name in ("b", "_a", "ccc")))
    assert symbols.names_at(0) == [b"b", b"_a", b"ccc"]


def test_thousands_of_aliases_are_bounded() -> None:
    symbols = table(*(Symbol(f"name{i}", 0x1000, 4) for i in range(3000)))
    assert len(symbols) == 1
    assert len(symbols.names_at(0)) == 32


def test_dynamic_symbols_are_added() -> None:
    elf = program(symbols=[Symbol("a", 0x1000, 4)])
    elf.add_symbols([Symbol("b", 0x1010, 4), Symbol("weak_a", 0x1000, 4, FUNC, WEAK)], dynamic=True)
    symbols = symbols_of_elf(ElfFile.from_bytes(elf.build()))
    assert symbols is not None
    assert (name_at(symbols, 0x1000), name_at(symbols, 0x1010)) == ("a", "b")


def test_symbol_at_the_very_end_of_the_address_space() -> None:
    top = (1 << 64) - 8
    symbols = table(Symbol("top", top, (1 << 64) - 1), Symbol("high", top - 16, 4))
    assert name_at(symbols, (1 << 64) - 2) == "top"
    assert symbols.find(1 << 64) is None
    assert symbols.find(-1) is None


def test_symbol_limit() -> None:
    elf = ElfFile.from_bytes(program(symbols=[Symbol("a", 0x1000, 4)] * 10).build())
    assert symbols_of_elf(elf, Limits(symbols=11)) is not None
    assert symbols_of_elf(elf, Limits(symbols=10)) is None


def test_name_past_its_strings_is_left_out() -> None:
    elf = program()
    elf.add_symbols([Symbol("abc", 0x1000, 4), Symbol("def", 0x1010, 4)])
    elf.sections[-1] = elf.sections[-1]._replace(data=elf.sections[-1].data[:5])
    symbols = symbols_of_elf(ElfFile.from_bytes(elf.build()))
    assert symbols is not None
    assert (name_at(symbols, 0x1000), name_at(symbols, 0x1010)) == ("abc", None)


def test_name_without_an_end_is_cut_at_its_strings() -> None:
    elf = program()
    elf.add_symbols([Symbol("abcdef", 0x1000, 4)])
    elf.sections[-1] = elf.sections[-1]._replace(data=elf.sections[-1].data[:4])
    symbols = symbols_of_elf(ElfFile.from_bytes(elf.build()))
    assert symbols is not None
    assert name_at(symbols, 0x1000) == "abc"


def test_very_long_name_is_cut() -> None:
    symbols = table(Symbol("x" * 100_000, 0x1000, 4))
    assert len(symbols.names_at(0)[0]) == 16384


def test_file_without_symbols_has_no_table() -> None:
    assert symbols_of_elf(ElfFile.from_bytes(program().build())) is None


@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("nm") is None, reason="gcc or nm is not installed")
def test_functions_as_nm_lists_them(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(
        "".join(
            f"{'static ' if i % 3 else ''}__attribute__((noinline, used)) int f{i}(int x) {{ return x * {i}; }}\n"
            for i in range(200)
        )
        + "int main(int n, char **v) { return f0(n); }\n"
    )
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "a", source], check=True)
    text = subprocess.run(["nm", "-S", tmp_path / "a"], capture_output=True, text=True, check=True).stdout
    theirs = {
        (int(start, 16), int(start, 16) + int(size, 16), name)
        for start, size, kind, name in (line.split() for line in text.splitlines() if len(line.split()) == 4)
        if kind in "tTwW"
    }
    symbols = symbols_of_elf(ElfFile.open(tmp_path / "a"))
    assert symbols is not None
    ours = {
        (start, end, symbols.names_at(i)[0].decode())
        for i, (start, end) in enumerate(zip(*symbols.ranges(), strict=True))
    }
    assert len(theirs) > 200
    assert theirs <= ours
