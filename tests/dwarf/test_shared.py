"""What dwz moves: to partial units of the same file, or to a file that several binaries share."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.defects import Defects
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.elf import ElfFile
from undwarf.images import Finder

from .conftest import CPP_SOURCE
from .test_split import addresses_of, chains

SECOND = CPP_SOURCE.replace("i * 7919", "i * 7907")


@pytest.fixture(scope="module", params=["-gdwarf-4", "-gdwarf-5"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`plain`, `alone` (what dwz did to it), `one` and `two` with `common`."""
    if shutil.which("dwz") is None:
        pytest.skip("dwz is not installed")
    folder: Path = tmp_path_factory.mktemp("dwz")
    (folder / "a.cpp").write_text(CPP_SOURCE)
    (folder / "b.cpp").write_text(SECOND)
    subprocess.run(["g++", "-O2", request.param, "a.cpp", "-o", "plain"], cwd=folder, check=True)
    subprocess.run(["g++", "-O2", request.param, "b.cpp", "-o", "two"], cwd=folder, check=True)
    for name in ("alone", "one"):
        shutil.copy(folder / "plain", folder / name)
    for command in (["dwz", "alone"], ["dwz", "-m", "common", "one", "two"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode or ("-m" in command and not (folder / "common").exists()):
            pytest.skip(f"dwz: {done.stderr[:200]}")
    return folder


def test_units_of_their_own_make_no_difference(place: Path) -> None:
    addresses = addresses_of(place / "plain")
    lines, plain = (DebugLines.open(ElfFile.open(place / name)) for name in ("alone", "plain"))
    assert lines is not None and plain is not None
    assert chains(lines, addresses) == chains(plain, addresses)


def test_names_come_from_the_common_file(place: Path) -> None:
    addresses = addresses_of(place / "plain")
    defects = Defects()
    lines = DebugLines.open(ElfFile.open(place / "one"), find_alt=Finder().alt_file, defects=defects)
    plain = DebugLines.open(ElfFile.open(place / "plain"))
    assert lines is not None and plain is not None and lines.file.alt is not None
    found = chains(lines, addresses)
    assert found == chains(plain, addresses)
    assert not list(defects)
    lines.release()
    assert chains(lines, addresses) == found


def test_common_file_that_is_missing_is_counted_and_places_are_known_still(place: Path) -> None:
    addresses = addresses_of(place / "plain")
    defects = Defects()
    lines = DebugLines.open(ElfFile.open(place / "one"), find_alt=lambda _elf: None, defects=defects)
    plain = DebugLines.open(ElfFile.open(place / "plain"))
    assert lines is not None and plain is not None
    assert [defect.kind for defect in defects] == ["common debugging information not found"]
    known, found = chains(plain, addresses), chains(lines, addresses)
    # Where the compiler worked is a common string.
    without = [[(entry[1].rpartition("/")[2], *entry[2:]) for entry in chain] for chain in found]
    assert without == [[(entry[1].rpartition("/")[2], *entry[2:]) for entry in chain] for chain in known]
    assert any(entry[0] == "" for chain in found for entry in chain)


def test_common_file_of_another_build_is_not_used(place: Path, tmp_path: Path) -> None:
    for name in ("one", "alone"):
        shutil.copy(place / name, tmp_path / name)
    # Another file of that name, with another build-id.
    shutil.copy(place / "plain", tmp_path / "common")
    lines = DebugLines.open(ElfFile.open(tmp_path / "one"), find_alt=Finder().alt_file)
    assert lines is not None and lines.file.alt is None
