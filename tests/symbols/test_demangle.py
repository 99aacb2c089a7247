"""Demangled names: perf's spelling, and no name that costs more than it is worth."""

import shutil
import subprocess
import time

import pytest

from undwarf.limits import Limits
from undwarf.symbols.demangle import demangle, demangle_all


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_start", "_start"),
        ("_Znwm", "operator new(unsigned long)"),
        ("_ZN2ns1A1fEv", "ns::A::f()"),
        ("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)"),
        ("_ZN1AIN1BIiEEE1fEv", "A<B<int> >::f()"),
        ("_ZN1AILj8EE1fEv", "A<8u>::f()"),
        ("_ZN1AILl1ELm2EE1fEv", "A<1l, 2ul>::f()"),
        ("_ZN1AIiJEE1fEv", "A<int>::f()"),
        ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"),
        ("_ZN12_GLOBAL__N_13barEv", "(anonymous namespace)::bar()"),
        ("_ZN2ns1A1fEv.cold", "ns::A::f() [clone .cold]"),
        ("_ZN2ns1A1fEv.isra.0", "ns::A::f() [clone .isra.0]"),
        ("_ZN2ns1A1fEv.constprop.0.part.1", "ns::A::f() [clone .constprop.0] [clone .part.1]"),
        ("_ZN2ns1A1fEv.llvm.14465406919230247857.cold", "ns::A::f() [clone .llvm.14465406919230247857] [clone .cold]"),
        ("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"),
        ("_ZThn80_N1AD0Ev.llvm.603726878598421603", "non-virtual thunk to A::~A() [clone .llvm.603726878598421603]"),
        ("_ZN12_GLOBAL__N_11AE", "(anonymous namespace)::A"),
        # What a class is part of comes before what points to it.
        ("_Z1fRK1ARNS_1BE", "f(A const&, A::B&)"),
        ("_Z1fRK1ARKNS_1BIiE1CE", "f(A const&, A::B<int>::C const&)"),
        ("_ZNSt6vectorIP1AE1fIJPNS0_1BEEEEvv", "void std::vector<A*>::f<A::B*>()"),
        ("_ZN1AIFN1B1CERKS1_EE1fEv", "A<B::C (B::C const&)>::f()"),
        ("_ZN1AIFSt4pairIiiEvEE1fEv", "A<std::pair<int, int> ()>::f()"),
        ("_ZN1AIZ1fIiEvT_EUlvE_E1gEv", "A<f<int>(int)::{lambda()#1}>::g()"),
        # one-letter symbols are no types
        ("a", "a"),
        # packs: references, empty ones, some behind others; parameters of constructors
        ("_ZN1A1fIJiidEEEvDpOT_", "void A::f<int, int, double>(int&&, int&&, double&&)"),
        ("_ZN1AIJ1BIiEEJEE1fEv", "A<B<int>>::f()"),
        ("_Z1fIJiRlEEvSt5tupleIJDpRKT_EE", "void f<int, long&>(std::tuple<int const&, long& const&>)"),
        ("_ZN1A1BIPKcEC1IPcEERKNS0_IT_EE", "A::B<char const*>::B<char*>(A::B<char*> const&)"),
        # conditions
        (
            "_Z1fIiEvNSt9enable_ifIXntsr3std7is_sameIT_vEE5valueES1_E4typeE",
            "void f<int>(std::enable_if<!std::is_same<int, void>::value, int>::type)",
        ),
        ("_Z1fIiEDTgtfp_Li0EET_", "decltype (({parm#1}>(0))) f<int>(int)"),
        # pointers around what they point to
        ("_Z1fRA3_A2_Kc", "f(char const (&) [3][2])"),
        ("_Z1fM1AKFivE", "f(int (A::*)() const)"),
        ("_Z1fIiEPFivET_", "int (*f<int>(int))()"),
        ("_Z1fIRiEvOT_", "void f<int&>(int&)"),
        # conversions are named before their template's arguments are
        ("_ZN1AcvT_IiEEv", "A::operator int<int>()"),
        ("_ZN1AIiEcvT_IdEEv", "A<int>::operator double<double>()"),
        # parameters of generic lambdas
        ("_ZZ3foovENKUlT_E0_clIiEEDaS_", "auto foo()::{lambda(auto:1)#2}::operator()<int>(int) const"),
        # A substitution means what parameters mean where it stands: g++ mangles g(L) for a lambda in f<int>() so, and
        # binutils says g(int).
        ("_ZSt1gIZ1fIiEvT_EUlvE_EvS1_", "void std::g<f<int>(int)::{lambda()#1}>(f<int>(int)::{lambda()#1})"),
        ("_Z1fIJEEvDpOT_", "void f<>()"),
        ("_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()"),
        ("_ZNSi6ignoreEl", "std::istream::ignore(long)"),
        ("_ZNSolsEi", "std::ostream::operator<<(int)"),
        ("_ZNSoD1Ev", "std::basic_ostream<char, std::char_traits<char> >::~basic_ostream()"),
        (
            "_ZNSsC1EPKcRKSaIcE",
            "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
            "basic_string(char const*, std::allocator<char> const&)",
        ),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123", "core::fmt::Formatter::pad"),
        ("_ZN39_$LT$A$u20$as$u20$B$GT$1f17h0123456789abcdefE", "<A as B>::f"),
        ("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"),
        ("_ZN", "_ZN"),
        ("_R", "_R"),
        ("", ""),
    ],
)
def test_name(symbol: str, name: str) -> None:
    if symbol.startswith("_ZN39"):
        # The length counts the escaped text.
        symbol = "_ZN28_$LT$A$u20$as$u20$B$GT$1f17h0123456789abcdefE".replace(
            "28_", f"{len('_$LT$A$u20$as$u20$B$GT$')}_"
        )
    assert demangle(symbol) == name


@pytest.mark.parametrize(
    "name",
    [
        "_ZN17h0123456789abcdefE",
        "_ZNv³1aE",
        "_Z1fIXsr1AIT_E1xEEvv",
        "_Z1fDpT_",
        "_Z1fS_",
        "_ZN1A",
        "_Z3ab",
        "_Z1fLi1E",
        "_ZE",
    ],
)
def test_what_is_no_name_stays(name: str) -> None:
    assert demangle(name) == name


@pytest.mark.skipif(not shutil.which("c++filt") or not shutil.which("g++"), reason="g++ or c++filt is not installed")
def test_names_of_the_standard_library_are_as_binutils_spells_them() -> None:
    path = subprocess.run(["g++", "-print-file-name=libstdc++.so"], capture_output=True, text=True, check=True).stdout
    dump = subprocess.run(["nm", "-D", path.strip()], capture_output=True, text=True)
    names = sorted({line.split()[-1].split("@")[0] for line in dump.stdout.splitlines() if " _Z" in line})
    if len(names) < 1000:
        pytest.skip("no dynamic symbols in libstdc++ here")
    done = subprocess.run(["c++filt", "-i"], input="\n".join(names), capture_output=True, text=True, check=True)
    expected = done.stdout.splitlines()
    found = demangle_all(names)
    differing = [one for one in zip(names, found, expected, strict=True) if one[1] != one[2]]
    # An older or newer binutils may differ in a few.
    assert len(differing) <= len(names) // 500, differing[:10]


def test_batch_keeps_the_order() -> None:
    assert demangle_all(["main", "_Z1fv", "x", "_Z1gv"]) == ["main", "f()", "x", "g()"]


def test_input_limit() -> None:
    name = "_ZN" + "1a" * 50 + "Ev"
    assert demangle(name, Limits(demangle_input=len(name))) != name
    assert demangle(name, Limits(demangle_input=len(name) - 1)) == name


def test_output_limit() -> None:
    assert demangle("_Z1fv", Limits(demangle_output=3)) == "f()"
    assert demangle("_Z1fv", Limits(demangle_output=2)) == "_Z1fv"


def _number(value: int, digits: str) -> str:
    text = ""
    while True:
        text = digits[value % len(digits)] + text
        value //= len(digits)
        if not value:
            return text


def cpp_bomb(depth: int) -> str:
    """Each argument type holds the one before twice."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    references = [f"S{_number(i, digits)}_" for i in range(depth)]
    return "_Z1f1AIiE" + "".join(f"S_I{one}{one}E" for one in references)


def rust_bomb(depth: int) -> str:
    """Each tuple holds the one before twice."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = "_RINvC1a1f"
    last = len(text) - 2
    text += "TllE"
    for _ in range(depth):
        here = len(text) - 2
        back = f"B{_number(last - 1, digits)}_"
        text += f"T{back}{back}E"
        last = here
    return text + "E"


@pytest.mark.parametrize("symbol", [cpp_bomb(40), cpp_bomb(300), rust_bomb(40), rust_bomb(300)])
def test_bomb_stays_mangled(symbol: str) -> None:
    assert demangle(symbol) == symbol


def test_many_bombs_do_not_add_up() -> None:
    bombs = [rust_bomb(30 + i % 50) + f".{i}" for i in range(20_000)]
    assert demangle_all(bombs) == bombs


@pytest.mark.parametrize(
    "symbol",
    [
        "_Z1fIJT_EEvDpT_",
        "_Z1fIJRT_EEvDpT_",
        "_Z1fIRKT_EvT_",
        "_Z1fIKT_EvRT_",
        "_Z1fIA1_T_EvRT_",
        "_Z1fIXsZT_EEvDpT_",
        "_ZN4llvm13set_intersectINS_11SmallPtrSetIPNS_5ValueET0_Lj4EEES4_EEvRT_RKT0_",
    ],
)
def test_argument_that_refers_to_itself_stays_mangled(symbol: str) -> None:
    start = time.thread_time()
    assert demangle(symbol) == symbol
    assert time.thread_time() - start < 0.1


def test_step_limit() -> None:
    name = "_Z1fI" + "1aIiE" * 50 + "Evv"
    assert demangle(name, Limits(demangle_steps=500)) != name
    assert demangle(name, Limits(demangle_steps=100)) == name


def test_text_that_is_copied_counts_as_steps() -> None:
    # Each level of a pointer copies the class's name of 900 characters.
    name = "_Z1f" + "P" * 90 + "900" + "a" * 900
    assert demangle(name, Limits(demangle_steps=3000)) != name
    assert demangle(name, Limits(demangle_steps=600)) == name


def test_costly_names_leave_common_ones_their_steps() -> None:
    costly = [f"_Z1fIJ{'i' * 1000}EEvDpT_.{i}" for i in range(200)]
    first, *_, last, common = demangle_all([*costly, "_ZN2ns1A1fEv"], Limits(demangle_steps=7000))
    assert first.startswith("void f<int, int")
    assert last == costly[-1]
    assert common == "ns::A::f()"


def test_underscore_of_other_systems_before_a_name() -> None:
    assert demangle("__ZN2ns1A1fEv") == "ns::A::f()"
    assert demangle("__Z_my_own") == "__Z_my_own"


@pytest.mark.parametrize("unit", ["_RNv", "_Z1fI", "N", "P", "T", "I", "XsrL", "Dp", "F"])
def test_deep_nesting_ends(unit: str) -> None:
    for start in ("_Z1f", "_Z", "_R", "_RNv"):
        demangle((start + unit * 4096)[:4096])
