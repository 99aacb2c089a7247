"""Which functions a name means, and the limits of a listing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.profiles import S, make_profile

from undwarf.errors import NothingUsable

# Private: a profile of a program with just these line tables is more than any of these tests is about.
from undwarf.views.source import Line, Listing, _add_source, find_function, plain_name, without_parameters


@pytest.mark.parametrize(
    ("name", "short", "plain"),
    [
        ("main", "main", "main"),
        ("ns::f(int, char) const", "ns::f", "ns::f"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f", "(anonymous)::f"),
        ("void ns::f<int, (anonymous namespace)::g>(char)", "void ns::f<int, (anonymous namespace)::g>", "ns::f"),
        ("<alloc::vec::Vec<T> as core::Clone>::clone", "<alloc::vec::Vec<T> as core::Clone>::clone", "::clone"),
        (
            "std::function<void (int)>::operator()(int) const",
            "std::function<void (int)>::operator",
            "std::function::operator",
        ),
    ],
)
def test_shorter_names(name: str, short: str, plain: str) -> None:
    assert without_parameters(name) == short
    assert plain_name(name) == plain


def test_what_a_name_means() -> None:
    profile = make_profile([S("f@app g@app"), S("ns::g(int)@app other::g(char)@app f2@app")])
    assert find_function(profile, "g") == ["g"]
    assert find_function(profile, "ns::g") == ["ns::g(int)"]
    assert find_function(profile, "f2") == ["f2"]
    with pytest.raises(NothingUsable) as caught:
        find_function(profile, "ff")
    assert "f2" in caught.value.hint or "f" in caught.value.hint


def test_a_source_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.c"
    path.write_text("int a;\n" * 100)
    listing = Listing("f", "nowhere", str(path), 1, 1, 1, [Line(2, None, 1, 1)])
    _add_source(listing, 699)
    assert "700 bytes are too many" in listing.problem
    _add_source(listing, 700)
    assert [line.text for line in listing.lines] == ["int a;"] * 5


def test_source_below_the_recorded_machines_root_comes_first(tmp_path: Path) -> None:
    (tmp_path / "root" / "work").mkdir(parents=True)
    (tmp_path / "root" / "work" / "one.c").write_text("int a;\nint b;\n")
    listing = Listing("f", "nowhere", "/work/one.c", 1, 1, 1, [Line(2, None, 1, 1)])
    _add_source(listing, 100, str(tmp_path / "root"))
    assert [line.text for line in listing.lines] == ["int a;", "int b;"]
    elsewhere = tmp_path / "two.c"
    elsewhere.write_text("int c;\n")
    listing = Listing("f", "nowhere", str(elsewhere), 1, 1, 1, [Line(1, None, 1, 1)])
    _add_source(listing, 100, str(tmp_path / "root"))
    assert [line.text for line in listing.lines] == ["int c;"]


def test_source_paths_do_not_lead_out_of_that_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.c").write_text("int secret;\n")
    listing = Listing("f", "nowhere", "/../secret.c", 1, 1, 1, [Line(1, None, 1, 1)])
    _add_source(listing, 100, str(tmp_path / "root"))
    assert "cannot be read" in listing.problem


@pytest.mark.parametrize("char", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_only_a_line_feed_ends_a_line_of_source(tmp_path: Path, char: str) -> None:
    path = tmp_path / "odd.c"
    path.write_bytes(f"one{char}still one\ntwo\r\nthree\n".encode())
    listing = Listing("f", "nowhere", str(path), 1, 1, 1, [Line(2, None, 1, 1)])
    _add_source(listing, 1000)
    assert [(line.number, line.text) for line in listing.lines] == [
        (1, f"one{char}still one"),
        (2, "two"),
        (3, "three"),
    ]


CARRIAGE_RETURN = b"""volatile int s;
/* one \r still the same line */
int main(void) { for (int i = 0; i < 3; i++) s += i; /* \r */ return 0; }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_lines_of_c_are_numbered_as_editors_do(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    path, program = tmp_path / "odd.c", tmp_path / "odd"
    path.write_bytes(CARRIAGE_RETURN)
    subprocess.run([compiler, "-g", "-O0", "-o", program, path], check=True)
    listed = subprocess.run(["objdump", "--dwarf=decodedline", program], capture_output=True, text=True, check=True)
    numbers = sorted({int(number) for number in re.findall(r"odd\.c +(\d+) ", listed.stdout)})
    assert numbers
    listing = Listing("main", "nowhere", str(path), 9, 9, 9, [Line(number, None, 1, 1) for number in numbers])
    _add_source(listing, 1000)
    weights = {line.number: line.self_weight for line in listing.lines if line.self_weight}
    assert weights == {3: len(numbers)}


def test_other_compilers_count_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "odd.rs"
    path.write_bytes(b"// one \r still one\nfn main() {}\n")
    listing = Listing("f", "nowhere", str(path), 1, 1, 1, [Line(2, None, 1, 1)])
    _add_source(listing, 1000)
    assert [(line.number, line.text) for line in listing.lines if line.self_weight] == [(2, "fn main() {}")]
