"""Names of languages other than C++ and Rust: the compilers' own, and what only looks like them."""

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import fuzz_demangle
import mutate
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.limits import Limits
from undwarf.symbols.address_lookup import Addresses
from undwarf.symbols.demangle import demangle, demangle_all, demangle_own
from undwarf.symbols.language_detection import Language

MARKED = [
    ("_D3std5stdio__T7writelnTAyaZQnFNfQjZv", "std.stdio.writeln!(immutable(char)[]).writeln(immutable(char)[])"),
    ("_D1d1S3fibMFiZi", "d.S.fib(int)"),
    ("_D1d1S3fibMFiZi.part.0", "d.S.fib(int) [clone .part.0]"),
    ("_Dmain", "D main"),
    ("$s4main3fooyyF", "main.foo() -> ()"),
    ("$s10Foundation4DataV5countSivg", "Foundation.Data.count.getter : Swift.Int"),
    ("P$PROG_$$_FIB$LONGINT$$LONGINT", "PROG.FIB(LONGINT): LONGINT"),
    ("SYSTEM$_$TDOUBLEREC_$__$$_SETFRAC$QWORD", "SYSTEM.TDOUBLEREC.SETFRAC(QWORD)"),
    ("camlStdlib__List__map_123", "Stdlib.List.map_123"),
    ("camlStdlib__bytes__$2b$2b_2205", "Stdlib.bytes.++_2205"),
    ("camlStdlib__anon_fn$5bstdlib$2eml$3a334$2c0$2d$2d54$5d_1453", "Stdlib.anon_fn[stdlib.ml:334,0--54]_1453"),
    ("camlCtype__has_constr_row$27_4094", "Ctype.has_constr_row'_4094"),
    ("camlFoo.bar_12", "Foo.bar_12"),
    ("camlFoo$bar_12", "Foo.bar_12"),
    ("camlFoo$$$2b$$2b_12", "Foo.++_12"),
]
OWN = [
    (Language.OCAML, "camlStdlib__List__code_begin", "Stdlib.List.code_begin"),
    (Language.OCAML, "camlO__entry", "O.entry"),
    (Language.HASKELL, "base_GHCziBase_map_info", "base:GHC.Base.map_info"),
    (Language.HASKELL, "Main_fib_info", "Main.fib_info"),
    (Language.HASKELL, "ZCMain_main_closure", ":Main.main_closure"),
    (Language.HASKELL, "ghczmprim_GHCziTuple_Z3T_con_info", "ghc-prim:GHC.Tuple.(,,)_con_info"),
    (Language.HASKELL, "ghczmprim_GHCziTypes_ZMZN_closure", "ghc-prim:GHC.Types.[]_closure"),
    (Language.HASKELL, "Main_zlzpzpzpzg_info", "Main.<+++>_info"),
    (Language.HASKELL, "Main_zdwgozuz27b2U_info", "Main.$wgo_\u27b2_info"),
    (
        Language.HASKELL,
        "containerszm0zi6zi5zi1_DataziMapziInternal_insert_info",
        "containers-0.6.5.1:Data.Map.Internal.insert_info",
    ),
    (Language.ADA, "pack__sub__fib", "pack.sub.fib"),
    (Language.ADA, "pack__sub__Oadd", 'pack.sub."+"'),
    (Language.ADA, "ada__text_io__put_line__2", "ada.text_io.put_line"),
    (Language.ADA, "_ada_amain", "amain"),
    (Language.ADA, "pack__sub__fib.constprop.0.cold", "pack.sub.fib [clone .constprop.0] [clone .cold]"),
    (Language.NIM, "fib__n_1.part.0", "n.fib [clone .part.0]"),
    (Language.NIM, "pluspercentpercent___n_9", "n.+%%"),
    (Language.NIM, "addInt__stdZprivateZdigitsutils_164", "std/private/digitsutils.addInt"),
]
OF_C = [
    "main", "camlot", "caml_call_gc", "camlFoo", "my__name", "zend_hash", "fib__n_1", "_Dtest", "_D", "_DYNAMIC", "_Tx",
    "_ada_amain", "GHC_info", "Main_fib_info", "base_GHCziBase_map_info", "pack__sub__fib", "a$b", "$x", "$d", "$s",
    "_$s", "P$", "A_$$_", "x$_$y", "_D4",
]  # fmt: skip  # a table
FOREIGN = [
    (Language.ADA, ["__gnat_malloc", "adainit", "packB", "pack_E", "GC__foo", "memcpy"]),
    (Language.HASKELL, ["hs_main", "stg_MUT_VAR_CLEAN_info", "stg_ap_v_info", "get_info", "r1Ab_info", "X_zk_info"]),
    (Language.OCAML, ["caml_alloc", "camlot", "caml_startup__code_begin"]),
    (Language.NIM, ["NimMain", "nimGC_setStackBottom", "my__name"]),
]


def only(wanted: Language) -> Callable[[Language], bool]:
    """What an image has that has code of one language."""
    return lambda language: language is wanted


@pytest.mark.parametrize(("symbol", "name"), MARKED)
def test_name_that_no_other_language_has(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


@pytest.mark.parametrize(("language", "symbol", "name"), OWN)
def test_name_in_an_image_of_its_language(language: Language, symbol: str, name: str) -> None:
    assert demangle_own([symbol], only(language)) == [name]


@pytest.mark.parametrize(("language", "symbol", "_name"), OWN)
def test_name_in_an_image_without_its_language_stays(language: Language, symbol: str, _name: str) -> None:
    assert demangle_own([symbol], lambda one: False) == [symbol]


def test_names_of_c_stay() -> None:
    assert demangle_all(OF_C) == OF_C
    assert demangle_own(OF_C, lambda language: False) == OF_C


@pytest.mark.parametrize(("language", "symbols"), FOREIGN)
def test_what_the_language_does_not_write_stays(language: Language, symbols: list[str]) -> None:
    assert demangle_own(symbols, only(language)) == symbols


@pytest.mark.parametrize("symbol", ["_D1d1S3fibMFiZi", "camlStdlib__List__map_123", "$s4main3fooyyF"])
def test_input_limit(symbol: str) -> None:
    assert demangle(symbol, Limits(demangle_input=len(symbol))) != symbol
    assert demangle(symbol, Limits(demangle_input=len(symbol) - 1)) == symbol


def test_output_limit() -> None:
    symbol = "_D1d1S3fibMFiZi"
    assert demangle(symbol, Limits(demangle_output=12)) == "d.S.fib(int)"
    assert demangle(symbol, Limits(demangle_output=11)) == symbol


def test_many_refused_names_end_a_batch() -> None:
    refused = ["_D1" + "a" * 4000] * 300
    found = demangle_all(["_D1d1S3fibMFiZi", *refused, "_D1d1S3fibMFiZi"])
    assert found == ["d.S.fib(int)", *refused, "_D1d1S3fibMFiZi"]


@given(st.lists(st.text(alphabet="_zZ$.aAcCDsS019MITU", max_size=40), max_size=20))
def test_any_text_is_named_or_stays(names: list[str]) -> None:
    symbols = [start + name for name in names for start in ("caml", "_D", "$s", "a__", "Main_", "P$A_$$_")]
    for found in (demangle_all(symbols), demangle_own(symbols, lambda language: True)):
        assert len(found) == len(symbols)
        assert all(found)


def test_mutated_names() -> None:
    chance = random.Random(1)
    start = fuzz_demangle.seeds()
    for _ in range(1500):
        fuzz_demangle.one_input(mutate.mutated(chance.choice(start), chance))


# -- programs -------------------------------------------------------------------------------------------------------

PROGRAMS = {
    "gnatmake": (
        "amain.adb",
        """procedure Amain is
           package Pack is function Fib (N : Integer) return Integer; end Pack;
           package body Pack is
              function Fib (N : Integer) return Integer is
              begin if N < 2 then return N; else return Fib (N - 1) + Fib (N - 2); end if; end Fib;
           end Pack;
        begin if Pack.Fib (5) = 3 then raise Program_Error; end if; end Amain;""",
        ["gnatmake", "-q", "-o", "program", "amain.adb"],
        "amain__pack__fib",
        "amain.pack.fib",
    ),
    "ocamlopt": (
        "o.ml",
        "let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2) let () = print_int (fib 5)",
        ["ocamlopt", "-o", "program", "o.ml"],
        "camlO__fib_",
        "O.fib_",
    ),
    "ghc": (
        "h.hs",
        "main = print (fib 5)\n{-# NOINLINE fib #-}\nfib :: Integer -> Integer\n"
        "fib n = if n < 2 then n else fib (n-1) + fib (n-2)\n",
        ["ghc", "-v0", "-o", "program", "h.hs"],
        "base_GHCziBase_map_info",
        "base:GHC.Base.map_info",
    ),
    "fpc": (
        "p.pas",
        "program prog; function fib(n: longint): longint; begin if n < 2 then fib := n else "
        "fib := fib(n-1) + fib(n-2); end; begin writeln(fib(5)); end.",
        ["fpc", "-v0", "-g", "-oprogram", "p.pas"],
        "P$PROG_$$_FIB$",
        "PROG.FIB(LONGINT): LONGINT",
    ),
    "gdc": (
        "d.d",
        "module d; struct S { int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); } } "
        "void main() { S s; s.fib(5); }",
        ["gdc", "-o", "program", "d.d"],
        "_D1d1S3fibM",
        "d.S.fib(int)",
    ),
    "nim": (
        "n.nim",
        "proc fib(n: int): int = (if n < 2: n else: fib(n-1) + fib(n-2))\necho fib(5)\n",
        ["nim", "c", "--hints:off", "--nimcache:cache", "-o:program", "n.nim"],
        "fib__n_",
        "n.fib",
    ),
}


def found_name(path: Path, start: str) -> str:
    """What is shown for the first function whose symbol begins so."""
    lines = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    address = next(int(one[0], 16) for one in symbols if len(one) == 3 and one[2].startswith(start))
    located = Addresses(str(path), demangle=True).locate(memoryview(address.to_bytes(8, "little")).cast("Q"))
    return located.symbols[located.symbol_of[0]]


@pytest.mark.parametrize("compiler", PROGRAMS)
def test_function_of_a_compiled_program(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler) or not shutil.which("nm"):
        pytest.skip(f"{compiler} is not installed")
    file, source, command, symbol, name = PROGRAMS[compiler]
    (tmp_path / file).write_text(source)
    if subprocess.run(command, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip(f"{compiler} does not compile here")
    assert found_name(tmp_path / "program", symbol).startswith(name)


def test_function_of_c_that_looks_like_ada_stays(tmp_path: Path) -> None:
    if not shutil.which("gcc") or not shutil.which("nm"):
        pytest.skip("gcc is not installed")
    (tmp_path / "a.c").write_text("int my__name(void) { return 1; }\nint main(void) { return my__name(); }\n")
    subprocess.run(["gcc", "-o", "program", "a.c"], cwd=tmp_path, check=True)
    assert found_name(tmp_path / "program", "my__name") == "my__name"
