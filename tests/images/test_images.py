"""Images and the files behind them: only the right file is used, and only where it may be read."""

import os
import struct
import zlib
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.elf_builder import BUILD_ID, SHF_COMPRESSED, Section, program

from undwarf.elf import ElfFile
from undwarf.images import Finder, Image, ImageKind, ImageStore
from undwarf.images.image_kind import kind_of_name
from undwarf.images.kernel_finder import vmlinux
from undwarf.images.prefetch import unpack_ahead
from undwarf.images.symfs_paths import confined

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
OTHER_ID = b"\xee" * 20


def finder(tmp_path: Path, **options: object) -> Finder:
    return Finder(debug_dirs=(str(tmp_path / "debug"),), buildid_dir=str(tmp_path / "cache"), **options)


def image_at(path: "Path | str", build_id: bytes, use: Finder) -> Image:
    return ImageStore([str(path).encode()], [Identity(build_id)], None, use).image((0, 0))


def debug_path(top: Path, build_id: bytes) -> Path:
    text = build_id.hex()
    path = top / ".build-id" / text[:2] / f"{text[2:]}.debug"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"/usr/lib/libc.so.6", ImageKind.FILE),
        (b"/usr/lib/libc.so.6 (deleted)", ImageKind.FILE),
        (b"/tmp/jitted-1-2.so", ImageKind.FILE),
        (b"[kernel.kallsyms]_text", ImageKind.KERNEL),
        (b"[kernel.kallsyms]", ImageKind.KERNEL),
        (b"[guest.kernel.kallsyms]_text", ImageKind.UNKNOWN),
        (b"[vdso]", ImageKind.VDSO),
        (b"[vsyscall]", ImageKind.UNKNOWN),
        (b"[nf_tables]", ImageKind.MODULE),
        (b"/lib/modules/6.1/kernel/fs/ext4/ext4.ko", ImageKind.MODULE),
        (b"/lib/modules/7.2/kernel/fs/ext4/ext4.ko.xz", ImageKind.MODULE),
        (b"/home/me/take.koala", ImageKind.FILE),
        (b"//anon", ImageKind.ANON),
        (b"[heap]", ImageKind.ANON),
        (b"[stack]", ImageKind.ANON),
        (b"[anon:dalvik]", ImageKind.ANON),
        (b"/memfd:x (deleted)", ImageKind.ANON),
        (b"/SYSV00000000 (deleted)", ImageKind.ANON),
        (b"/anon_hugepage (deleted)", ImageKind.ANON),
        (b"/dev/zero (deleted)", ImageKind.ANON),
        (b"", ImageKind.ANON),
        (b"bpf_prog_6deef7357e7b4530_x", ImageKind.BPF),
        (b"/tmp/perf-12.map", ImageKind.JIT),
    ],
)
def test_kind_by_name(name: bytes, kind: ImageKind) -> None:
    assert kind_of_name(name) is kind


def test_file_with_the_recorded_build_id_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program().build())
    image = image_at(path, BUILD_ID, finder(tmp_path))
    assert image.elf is not None
    assert image.problem == ""


def test_file_with_another_build_id_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program(build_id=OTHER_ID).build())
    use = finder(tmp_path)
    image = image_at(path, BUILD_ID, use)
    assert image.elf is None
    assert image.problem == "its build-id differs from the recorded one"
    assert [defect.kind for defect in use.defects] == ["build-id mismatch"]


def test_file_without_a_build_id_is_not_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program(build_id=b"").build())
    assert image_at(path, BUILD_ID, finder(tmp_path)).elf is None


def test_build_ids_padded_by_old_perf_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program(build_id=b"12345678").build())
    assert image_at(path, b"12345678" + b"\0" * 12, finder(tmp_path)).elf is not None


def test_without_a_recorded_build_id_the_path_is_trusted_and_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program().build())
    image = image_at(path, b"", finder(tmp_path))
    assert image.elf is not None
    assert image.build_id == BUILD_ID


def test_deleted_file_is_used_only_when_verified(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program().build())
    use = finder(tmp_path)
    assert image_at(f"{path} (deleted)", BUILD_ID, use).elf is not None
    assert image_at(f"{path} (deleted)", OTHER_ID, use).elf is None
    unknown = image_at(f"{path} (deleted)", b"", use)
    assert unknown.elf is None
    assert "deleted" in unknown.problem


def test_perf_cache_directory(tmp_path: Path) -> None:
    entry = tmp_path / "cache" / "usr" / "a" / BUILD_ID.hex()
    entry.mkdir(parents=True)
    (entry / "elf").write_bytes(program().build())
    link = tmp_path / "cache" / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
    link.parent.mkdir(parents=True)
    link.symlink_to(f"../../usr/a/{BUILD_ID.hex()}")
    image = image_at("/nowhere/a", BUILD_ID, finder(tmp_path))
    assert image.elf is not None
    assert image.problem == ""


def test_perf_cache_of_old_style_is_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache" / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(program().build())
    assert image_at("/nowhere/a", BUILD_ID, finder(tmp_path)).elf is not None


def test_wrong_file_in_the_cache_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "cache" / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(program(build_id=OTHER_ID).build())
    assert image_at("/nowhere/a", BUILD_ID, finder(tmp_path)).elf is None


@pytest.mark.parametrize("name", ["relative", "../up", "/nul\0inside", "/" + "x" * 5000, "/dev/null/x"])
def test_names_that_are_no_path_have_a_problem(tmp_path: Path, name: str) -> None:
    image = image_at(name, b"", finder(tmp_path))
    assert image.elf is None
    assert image.problem


def test_fifo_and_device_are_not_opened(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, Path("/dev/urandom")):
        image = image_at(path, b"", finder(tmp_path))
        assert image.elf is None
        assert image.problem == "not a regular file" or path.name == "urandom"


def test_types_of_the_running_kernel_are_read_though_nobody_may_share_them(tmp_path: Path) -> None:
    path = Path("/sys/kernel/btf/vmlinux")
    if not os.access(path, os.R_OK):
        pytest.skip("this kernel has no types of its own")
    assert image_at(path, b"", finder(tmp_path)).problem == "not an ELF file"


# symfs -----------------------------------------------------------------------------------------------------


def test_symfs_is_the_root_of_recorded_paths(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    (root / "usr" / "a").write_bytes(program().build())
    assert image_at("/usr/a", BUILD_ID, finder(tmp_path, symfs=str(root))).elf is not None


@pytest.mark.parametrize("name", ["/../secret", "/usr/../../secret", "/up/secret", "/absolute/secret"])
def test_symfs_is_never_left(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(program().build())
    (root / "up").symlink_to("..")
    (root / "absolute").symlink_to(tmp_path)
    assert image_at(name, b"", finder(tmp_path, symfs=str(root))).elf is None


def test_links_inside_symfs_start_at_its_root(tmp_path: Path) -> None:
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "a").touch()
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "usr" / "b").symlink_to("../lib/a")
    assert confined(str(tmp_path), "/lib/a") == str(tmp_path / "usr" / "lib" / "a")
    assert confined(str(tmp_path), "/usr/b") == str(tmp_path / "usr" / "lib" / "a")


def test_link_cycle_inside_symfs_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert confined(str(tmp_path), "/a") is None


# Debug files -----------------------------------------------------------------------------------------------


def test_debug_file_by_build_id(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    debug_path(tmp_path / "debug", BUILD_ID).write_bytes(program().build())
    assert image_at(tmp_path / "a", BUILD_ID, finder(tmp_path)).debug_elf is not None


def test_debug_file_with_another_build_id_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    debug_path(tmp_path / "debug", BUILD_ID).write_bytes(program(build_id=OTHER_ID).build())
    assert image_at(tmp_path / "a", BUILD_ID, finder(tmp_path)).debug_elf is None


def linked(tmp_path: Path, name: bytes, crc: int) -> Path:
    elf = program(build_id=b"")
    elf.sections.append(Section(".gnu_debuglink", name + b"\0" * (4 - len(name) % 4) + struct.pack("<I", crc)))
    path = tmp_path / "bin" / "a"
    path.parent.mkdir()
    path.write_bytes(elf.build())
    return path


@pytest.mark.parametrize("place", ["bin/a.dbg", "bin/.debug/a.dbg", "debug/{here}/bin/a.dbg"])
def test_debug_file_by_link_and_checksum(tmp_path: Path, place: str) -> None:
    data = program(build_id=b"").build()
    path = linked(tmp_path, b"a.dbg", zlib.crc32(data))
    target = tmp_path / place.format(here=str(tmp_path).lstrip("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    found = image_at(path, b"", finder(tmp_path)).debug_elf
    assert found is not None
    assert found.path == str(target)


def test_debug_file_with_another_checksum_is_counted_and_not_used(tmp_path: Path) -> None:
    path = linked(tmp_path, b"a.dbg", 12345)
    (tmp_path / "bin" / "a.dbg").write_bytes(program(build_id=b"").build())
    use = finder(tmp_path)
    assert image_at(path, b"", use).debug_elf is None
    assert [defect.kind for defect in use.defects] == ["debug file with another checksum"]


def test_debug_link_with_a_path_is_not_followed(tmp_path: Path) -> None:
    data = program(build_id=b"").build()
    (tmp_path / "a.dbg").write_bytes(data)
    path = linked(tmp_path, b"../a.dbg", zlib.crc32(data))
    assert image_at(path, b"", finder(tmp_path)).debug_elf is None


@pytest.mark.parametrize("suffix", [".debug", ""])
def test_debug_file_by_the_path_of_the_binary(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(program().build())
    target = Path(f"{tmp_path}/debug{path}{suffix}")
    target.parent.mkdir(parents=True)
    target.write_bytes(program().build())
    assert image_at(path, BUILD_ID, finder(tmp_path)).debug_elf is not None


def test_alternate_file_by_build_id(tmp_path: Path) -> None:
    elf = program()
    elf.sections.append(Section(".gnu_debugaltlink", b"/nowhere/common\0" + OTHER_ID))
    debug_path(tmp_path / "debug", OTHER_ID).write_bytes(program(build_id=OTHER_ID).build())
    found = finder(tmp_path).alt_file(ElfFile.from_bytes(elf.build()))
    assert found is not None
    assert found.build_id == OTHER_ID


# vdso, kernel ----------------------------------------------------------------------------------------------


def test_vdso_of_this_process_for_this_kernel_release(tmp_path: Path) -> None:
    features = SimpleNamespace(osrelease=os.uname().release, build_ids=None)
    image = ImageStore([b"[vdso]"], [Identity()], features, finder(tmp_path)).image((0, 0))
    if "[vdso]" not in Path("/proc/self/maps").read_text():
        pytest.skip("this system maps no vdso")
    assert image.elf is not None
    assert image.elf.section(".text") is not None


def test_vdso_of_another_release_is_not_ours(tmp_path: Path) -> None:
    features = SimpleNamespace(osrelease="0.1-other", build_ids=None)
    image = ImageStore([b"[vdso]"], [Identity()], features, finder(tmp_path)).image((0, 0))
    assert image.elf is None
    assert "another kernel" in image.problem


def test_vmlinux_of_the_user_must_be_the_recorded_kernel(tmp_path: Path) -> None:
    path = tmp_path / "vmlinux"
    path.write_bytes(program().build())
    for build_id, usable in ((BUILD_ID, True), (OTHER_ID, False), (b"", True)):
        image = image_at("[kernel.kallsyms]_text", build_id, finder(tmp_path, vmlinux=str(path)))
        assert (image.elf is not None) is usable


def test_vmlinux_by_build_id_among_debug_files(tmp_path: Path) -> None:
    debug_path(tmp_path / "debug", BUILD_ID).write_bytes(program().build())
    image = image_at("[kernel.kallsyms]_text", BUILD_ID, finder(tmp_path))
    assert image.elf is not None
    assert image.path == "[kernel.kallsyms]"


def test_release_name_cannot_leave_its_folder(tmp_path: Path) -> None:
    (tmp_path / "boot").mkdir()
    (tmp_path / "evil").write_bytes(program().build())
    found, _problem = vmlinux(finder(tmp_path, symfs=str(tmp_path)), BUILD_ID, "x/../../evil")
    assert found is None


# The store -------------------------------------------------------------------------------------------------


def test_same_path_with_two_build_ids_is_two_images() -> None:
    store = ImageStore([b"/a"], [Identity(BUILD_ID), Identity(OTHER_ID)])
    assert store.image((0, 0)) is not store.image((0, 1))


def test_keys_with_the_same_build_id_are_one_image() -> None:
    store = ImageStore([b"/a"], [Identity(BUILD_ID, 1, 2, 3), Identity(BUILD_ID)])
    assert store.image((0, 0)) is store.image((0, 1))
    assert [image.number for image in store.images] == [0]


def test_same_path_with_two_inodes_is_two_images() -> None:
    store = ImageStore([b"/a"], [Identity(inode=1), Identity(inode=2)])
    assert store.image((0, 0)) is not store.image((0, 1))


def test_build_id_from_the_header(tmp_path: Path) -> None:
    features = SimpleNamespace(
        osrelease="", build_ids=[(-1, BUILD_ID, "/a", 2), (-1, OTHER_ID, "[kernel.kallsyms]", 1)]
    )
    store = ImageStore([b"/a", b"[kernel.kallsyms]_text"], [Identity()], features, finder(tmp_path))
    assert store.image((0, 0)).build_id == BUILD_ID
    assert store.image((1, 0)).build_id == OTHER_ID


def test_kernel_reference_symbols_mean_one_image() -> None:
    store = ImageStore([b"[kernel.kallsyms]_text", b"[kernel.kallsyms]_stext"], [Identity(BUILD_ID)])
    assert store.image((0, 0)) is store.image((1, 0))
    assert store.kernel() is store.image((0, 0))


@pytest.mark.parametrize("kernel", ["[kernel.kallsyms]", "[guest.kernel.kallsyms]", "[guest.kernel.kallsyms.71]"])
def test_a_kernel_is_named_without_its_reference_symbol(kernel: str) -> None:
    store = ImageStore([f"{kernel}_text".encode()], [Identity()])
    image = store.image((0, 0))
    assert (image.name.decode(), image.path) == (kernel, kernel)


def test_segments_and_bytes_for_the_walk(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(program().build())
    image = image_at(path, BUILD_ID, finder(tmp_path))
    offset, size, address, flags = image.load_segments()[0]
    assert (size, address, flags) == (256, 0x1000, 5)
    assert image.address_of_offset(offset + 1) == 0x1001
    assert bytes(image.read(0x1001, 2) or b"") == b"\1\2"


def test_image_without_a_file_has_no_segments(tmp_path: Path) -> None:
    image = image_at("//anon", b"", finder(tmp_path))
    assert image.load_segments() == []
    assert image.read(0, 1) is None
    assert image.address_of_offset(0) is None


@pytest.mark.parametrize(
    ("most", "asks", "early"), [(1700, False, 2), (1699, False, 1), (399, False, 0), (1 << 20, True, 0)]
)
def test_debugging_information_is_unpacked_ahead_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, asks: bool, early: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    elf = program()
    for name, text in ((".debug_info", b"info" * 100), (".debug_abbrev", b"abbreviations" * 100)):
        elf.sections.append(Section(name, elf.compressed(1, zlib.compress(text), len(text)), flags=SHF_COMPRESSED))
    path = tmp_path / "a"
    path.write_bytes(elf.build())
    use = finder(tmp_path)
    store = ImageStore(
        [str(path).encode(), b"[vdso]", b"/not/there"], [Identity(BUILD_ID), *2 * [Identity()]], None, use
    )
    numbers = [store.image((k, k)).number for k in range(3)]
    file = store[numbers[0]].elf
    assert file is not None
    if asks:
        monkeypatch.setattr(use, "debuginfod", SimpleNamespace())
    unpacked: list[str] = []
    # Private: which sections are decompressed early is not seen in what they hold.
    unpack = ElfFile._unpacked
    monkeypatch.setattr(ElfFile, "_unpacked", lambda self, one: unpacked.append(one.name) or unpack(self, one))
    unpack_ahead(store, numbers, ((".debug_info",), (".debug_abbrev",)), most)()
    assert unpacked == [".debug_info", ".debug_abbrev"][:early]
    assert bytes(file.section_data(".debug_info") or b"") == b"info" * 100
    assert bytes(file.section_data(".debug_abbrev") or b"") == b"abbreviations" * 100
    assert len(unpacked) == 2
