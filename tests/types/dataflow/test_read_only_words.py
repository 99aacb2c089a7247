"""Words in read-only sections are integers unless they are relocated."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.types.open_resolver import open_resolver

SOURCE = """
const long primes[] = {7, -11};
const char *const names[] = {"seven", "eleven"};
long counted = 5;
int main(void) { return 0; }
"""


@pytest.mark.parametrize(("options", "second"), [(("-fPIE", "-pie"), -11), (("-fno-pie", "-no-pie"), None)])
def test_read_only_words_are_integers_unless_they_are_addresses(
    tmp_path: Path, options: tuple[str, ...], second: int | None
) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", *options, "-o", "p", "p.c"], check=True, cwd=tmp_path)
    resolver = open_resolver(ElfFile.open(tmp_path / "p"))
    assert resolver is not None
    places = {name: resolver.source.symbol_named(name)[0] for name in ("primes", "names", "counted")}
    assert all(places.values())
    constant_at = resolver.program.constant_at
    assert constant_at(places["primes"] + 8) == second
    # The dynamic linker writes addresses, where there is one.
    assert constant_at(places["names"]) is None
    assert constant_at(places["counted"]) is None
    assert constant_at(0) is None
