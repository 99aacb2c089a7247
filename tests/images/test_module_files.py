"""Kernel modules: their files, packed or not, and no others."""

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from tests.support.elf_builder import BUILD_ID, program

from undwarf.elf.compression import CompressionError, unpack_file
from undwarf.images import Finder
from undwarf.images.kernel_finder import module, module_name
from undwarf.limits import DEFAULT

RELEASE = "6.1.0-test"
PACKED = {
    "": bytes,
    ".xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC32),
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def machine(root: Path, suffix: str = "", build_id: bytes = BUILD_ID) -> Path:
    """A root with one module, ``net/nf-tables.ko``."""
    base = root / "lib" / "modules" / RELEASE
    path = base / "kernel" / "net" / f"nf-tables.ko{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(PACKED[suffix](program(build_id=build_id, kind=1).build()))
    (base / "modules.dep").write_text(f"kernel/a/other.ko: \nkernel/net/nf-tables.ko{suffix}: kernel/a/other.ko\n")
    return path


def finder(tmp_path: Path, **options: object) -> Finder:
    return Finder(symfs=str(tmp_path), debug_dirs=(), buildid_dir=str(tmp_path / "cache"), **options)


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("[nf_tables]", "nf_tables"),
        ("/lib/modules/6.1/kernel/net/nf-tables.ko.xz", "nf_tables"),
        ("/x/nf-tables.ko (deleted)", "nf_tables"),
    ],
)
def test_the_name_of_a_module(recorded: str, name: str) -> None:
    assert module_name(recorded) == name


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("build_id", [BUILD_ID, b""])
def test_by_its_name_in_the_recorded_release(tmp_path: Path, suffix: str, build_id: bytes) -> None:
    path = machine(tmp_path, suffix)
    elf, problem = module(finder(tmp_path), "[nf_tables]", build_id, RELEASE)
    assert (elf is not None, problem) == (True, "")
    assert elf is not None
    assert (elf.path, elf.build_id) == (str(path), BUILD_ID)


def test_by_its_path(tmp_path: Path) -> None:
    machine(tmp_path, ".xz")
    recorded = f"/lib/modules/{RELEASE}/kernel/net/nf-tables.ko.xz"
    assert module(finder(tmp_path), recorded, BUILD_ID, "")[0] is not None


def test_only_with_the_recorded_build_id(tmp_path: Path) -> None:
    machine(tmp_path, build_id=b"\xee" * 20)
    found = module(finder(tmp_path), "[nf_tables]", BUILD_ID, RELEASE)
    assert found == (None, "its build-id differs from the recorded one")


@pytest.mark.parametrize("release", ["", "..", "6.1/..", "6.2"])
def test_only_of_the_recorded_release(tmp_path: Path, release: str) -> None:
    machine(tmp_path)
    assert module(finder(tmp_path), "[nf_tables]", b"", release)[0] is None


def test_a_list_of_modules_does_not_lead_elsewhere(tmp_path: Path) -> None:
    machine(tmp_path / "root")
    (tmp_path / "nf_tables.ko").write_bytes(program().build())
    dep = tmp_path / "root" / "lib" / "modules" / RELEASE / "modules.dep"
    dep.write_text("../../../../nf_tables.ko:\n")
    assert module(finder(tmp_path / "root"), "[nf_tables]", b"", RELEASE)[0] is None


def test_in_perfs_cache(tmp_path: Path) -> None:
    text = BUILD_ID.hex()
    path = tmp_path / "cache" / ".build-id" / text[:2] / text[2:] / "elf"
    path.parent.mkdir(parents=True)
    path.write_bytes(lzma.compress(program().build()))
    assert module(finder(tmp_path), "[nf_tables]", BUILD_ID, "")[0] is not None


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst"])
def test_damage_is_said(tmp_path: Path, suffix: str) -> None:
    path = machine(tmp_path, suffix)
    path.write_bytes(path.read_bytes()[:-20])
    found, problem = module(finder(tmp_path), "[nf_tables]", b"", RELEASE)
    assert found is None
    assert problem


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst"])
def test_what_unpacks_to_too_much(suffix: str) -> None:
    packed = memoryview(PACKED[suffix](bytes(1 << 22)))
    with pytest.raises(CompressionError):
        unpack_file(packed, DEFAULT._replace(module_bytes=1 << 20))
    with pytest.raises(CompressionError):
        unpack_file(packed, DEFAULT._replace(compression_ratio=2))
