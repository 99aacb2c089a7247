"""Names of code without a file: the kernel's functions, and those of run-time compiled code."""

from pathlib import Path

from undwarf.agent.jit_names import JitNames
from undwarf.agent.kernel_names import KernelNames
from undwarf.images.finder import Finder

KALLSYMS = """0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t do_one
ffffffff81000180 d data
ffffffff81000200 T do_two
ffffffffc0000000 t in_module\t[module]
ffffffff81000300 T late
"""


def test_kernel_functions_are_those_that_contain_the_addresses(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    names = KernelNames(tmp_path, tmp_path / "kallsyms")
    found = names.lines([0xFFFFFFFF810001F0, 0xFFFFFFFFC0000010, 0xFFFFFFFF81000310, 0xFFFFFFFF810001F4, 16])
    assert found == ("ffffffff81000100 T do_one\nffffffff81000300 T late\nffffffffc0000000 T in_module\t[module]\n")


def test_kernel_functions_are_known_without_space_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    names = KernelNames(tmp_path / "missing", tmp_path / "kallsyms")
    assert names.lines([0xFFFFFFFF810001F0]) == "ffffffff81000100 T do_one\n"


def test_hidden_addresses_give_no_names(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text("0000000000000000 T _stext\n0000000000000000 T do_one\n")
    assert KernelNames(tmp_path, tmp_path / "kallsyms").lines([0xFFFFFFFF81000000]) == ""


def test_jit_functions_are_those_of_the_map(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    path = tmp_path / "tmp" / "perf-77.map"
    path.write_text("1000 20 LazyCompile:~one a.js:1\n1020 10 two\n")
    names = JitNames(Finder(symfs=str(tmp_path)))
    assert names.lines(77, {0x1010}) == "1000 20 LazyCompile:~one a.js:1\n"
    path.write_text(path.read_text() + "2000 10 three\n")
    assert names.lines(77, {0x1025, 0x200F, 0x3000}) == "1020 10 two\n2000 10 three\n"


def test_a_process_without_a_map_has_no_names(tmp_path: Path) -> None:
    assert JitNames(Finder(symfs=str(tmp_path))).lines(77, {0x1010}) == ""
