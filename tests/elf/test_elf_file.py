"""ELF files of every class and byte order: headers, sections, identity, addresses."""

import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
import zstandard
from tests.support.elf_builder import BUILD_ID, SHF_COMPRESSED, Elf, Section, Segment, program

from undwarf.elf import ElfFile
from undwarf.elf.background_inflate import DeferredBytes, prefetch_all
from undwarf.errors import ElfError
from undwarf.limits import Limits

LAYOUTS = [(True, False), (True, True), (False, False), (False, True)]
layouts = pytest.mark.parametrize(("is_64", "big"), LAYOUTS, ids=["64le", "64be", "32le", "32be"])


@layouts
def test_header_fields(is_64: bool, big: bool) -> None:
    elf = ElfFile.from_bytes(program(is_64=is_64, big=big, machine=183, kind=2, entry=0x1010).build())
    assert (elf.is_64, elf.byte_order) == (is_64, "big" if big else "little")
    assert (elf.machine, elf.kind, elf.entry) == (183, 2, 0x1010)


@layouts
def test_segments_keep_their_fields(is_64: bool, big: bool) -> None:
    elf = ElfFile.from_bytes(program(is_64=is_64, big=big).build())
    data = elf.segments[2]
    assert (data.type, data.flags, data.address, data.file_size, data.memory_size) == (1, 6, 0x3000, 7, 0x100)
    assert bytes(elf.data[data.offset : data.offset + 7]) == b"written"


@layouts
def test_section_data_by_name(is_64: bool, big: bool) -> None:
    elf = ElfFile.from_bytes(program(is_64=is_64, big=big).build())
    assert bytes(elf.section_data(".rodata") or b"") == b"read-only data!!"
    rodata = elf.section(".rodata")
    assert rodata is not None
    assert (rodata.address, rodata.align, rodata.flags) == (0x2000, 16, 2)


@layouts
def test_counts_in_section_header_zero(is_64: bool, big: bool) -> None:
    plain = ElfFile.from_bytes(program(is_64=is_64, big=big).build())
    extended = ElfFile.from_bytes(program(is_64=is_64, big=big, extended=True).build())
    assert [section.name for section in extended.sections] == [section.name for section in plain.sections]
    assert len(extended.segments) == len(plain.segments)


def test_sections_are_not_parsed_before_they_are_asked_for() -> None:
    elf = ElfFile.from_bytes(program().build())
    assert elf.build_id == BUILD_ID
    assert "sections" not in vars(elf)


def test_section_without_bytes_has_no_data() -> None:
    elf = ElfFile.from_bytes(program().build())
    assert elf.section(".bss") is not None
    assert elf.section_data(".bss") is None
    assert elf.section_data(".none") is None
    assert len(elf.defects) == 0


@layouts
@pytest.mark.parametrize("kind", ["zlib", "zstd"])
def test_compressed_section(is_64: bool, big: bool, kind: str) -> None:
    elf = Elf(is_64=is_64, big=big)
    text = b"unwinding " * 100
    packed = zlib.compress(text) if kind == "zlib" else zstandard.compress(text)
    data = elf.compressed(1 if kind == "zlib" else 2, packed, len(text))
    elf.sections = [Section(".debug_info", data, flags=SHF_COMPRESSED)]
    assert bytes(ElfFile.from_bytes(elf.build()).section_data(".debug_info") or b"") == text


def test_zstd_without_the_size_in_its_frame() -> None:
    text = b"unwinding " * 100
    packer = zstandard.ZstdCompressor(write_content_size=False)
    elf = Elf()
    elf.sections = [Section(".debug_line", elf.compressed(2, packer.compress(text), len(text)), flags=SHF_COMPRESSED)]
    assert bytes(ElfFile.from_bytes(elf.build()).section_data(".debug_line") or b"") == text


@pytest.mark.parametrize("unpacked", [False, True])
def test_pages_are_given_back_with_what_was_unpacked_or_without(unpacked: bool) -> None:
    elf = Elf()
    elf.sections = [Section(".debug_info", elf.compressed(1, zlib.compress(b"text"), 4), flags=SHF_COMPRESSED)]
    file = ElfFile.from_bytes(elf.build())
    first = file.section_data(".debug_info")
    file.release(unpacked=unpacked)
    again = file.section_data(".debug_info")
    assert first == again == b"text"
    assert (first is again) is not unpacked


def test_old_style_compressed_section_is_found_by_its_new_name() -> None:
    text = b"unwinding " * 100
    elf = Elf()
    elf.sections = [Section(".zdebug_info", b"ZLIB" + struct.pack(">Q", len(text)) + zlib.compress(text))]
    assert bytes(ElfFile.from_bytes(elf.build()).section_data(".debug_info") or b"") == text


@pytest.mark.parametrize(
    ("kind", "packed", "size"),
    [
        (1, zlib.compress(b"a" * 100), 99),
        (1, zlib.compress(b"a" * 100), 101),
        (1, b"not zlib", 100),
        (2, b"not zstd", 100),
        (2, zstandard.compress(b"a" * 100), 99),
        (7, b"unknown", 100),
        (1, zlib.compress(b""), 1 << 60),
        (2, zstandard.compress(b"\0" * (1 << 24)), 1 << 24),
    ],
)
def test_damaged_compressed_section_is_absent_and_counted_once(kind: int, packed: bytes, size: int) -> None:
    elf = Elf()
    elf.sections = [Section(".debug_info", elf.compressed(kind, packed, size), flags=SHF_COMPRESSED)]
    read = ElfFile.from_bytes(elf.build())
    assert read.section_data(".debug_info") is None
    assert read.section_data(".debug_info") is None
    assert [(defect.kind, defect.count) for defect in read.defects] == [("corrupt compressed section", 1)]


def with_deferred(text: bytes = b"unwinding " * 100, packed: bytes = b"") -> tuple[ElfFile, DeferredBytes]:
    elf = Elf()
    data = elf.compressed(1, packed or zlib.compress(text), len(text))
    elf.sections = [Section(".debug_info", data, flags=SHF_COMPRESSED), Section(".debug_str", b"plain")]
    file = ElfFile.from_bytes(elf.build())
    assert file.defer(".debug_str") is None
    assert file.defer(".debug_line") is None
    deferred = file.defer(".debug_info")
    assert deferred is not None
    assert file.defer(".debug_info") is None
    return file, deferred


def test_section_that_a_thread_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    file, deferred = with_deferred()
    interval = sys.getswitchinterval()
    prefetch_all([deferred])()
    assert sys.getswitchinterval() == interval
    # Private: nothing is decompressed any more.
    monkeypatch.setattr(ElfFile, "_unpacked", None)
    assert bytes(file.section_data(".debug_info") or b"") == b"unwinding " * 100
    assert file.defer(".debug_info") is None


def test_prefetching_threads_restore_the_switch_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    interval = sys.getswitchinterval()
    begun, goes_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        begun.set()
        goes_on.wait()
        return b""

    first = prefetch_all([DeferredBytes(slow)])
    begun.wait()
    second = prefetch_all([DeferredBytes(lambda: b"")])
    goes_on.set()
    first()
    second()
    assert sys.getswitchinterval() == interval


def test_bytes_asked_for_before_the_thread_begins_are_not_waited_for() -> None:
    file, deferred = with_deferred()
    assert bytes(file.section_data(".debug_info") or b"") == b"unwinding " * 100
    deferred.load()
    assert deferred.data() is None


@pytest.mark.parametrize("cpus", [1, 2])
def test_no_thread_with_one_cpu_or_where_there_are_no_more(monkeypatch: pytest.MonkeyPatch, cpus: int) -> None:
    def refused(_thread: threading.Thread) -> None:
        assert cpus == 2
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(cpus)))
    monkeypatch.setattr(threading.Thread, "start", refused)
    file, deferred = with_deferred()
    prefetch_all([deferred])()
    assert bytes(file.section_data(".debug_info") or b"") == b"unwinding " * 100


def test_damage_that_a_thread_meets_is_counted_once() -> None:
    file, deferred = with_deferred(packed=b"not zlib")
    prefetch_all([deferred])()
    assert file.section_data(".debug_info") is None
    assert [(defect.kind, defect.count) for defect in file.defects] == [("corrupt compressed section", 1)]


def test_section_size_limit() -> None:
    text = b"ab" * 1000
    elf = Elf()
    elf.sections = [Section(".debug_info", elf.compressed(1, zlib.compress(text), 2000), flags=SHF_COMPRESSED)]
    assert ElfFile.from_bytes(elf.build(), limits=Limits(section_bytes=2000)).section_data(".debug_info") is not None
    assert ElfFile.from_bytes(elf.build(), limits=Limits(section_bytes=1999)).section_data(".debug_info") is None


@layouts
def test_build_id_from_a_note_section_without_segments(is_64: bool, big: bool) -> None:
    elf = program(is_64=is_64, big=big)
    elf.segments = []
    assert ElfFile.from_bytes(elf.build()).build_id == BUILD_ID


def test_build_id_after_other_notes() -> None:
    elf = Elf()
    elf.sections = [
        Section(".note", elf.note(1, b"1234567") + elf.note(3, b"x" * 8, b"Go\0\0") + elf.note(3, BUILD_ID), 7)
    ]
    assert ElfFile.from_bytes(elf.build()).build_id == BUILD_ID


def test_notes_aligned_to_eight() -> None:
    elf = Elf()
    elf.sections = [Section(".note", elf.note(5, b"p" * 20, pad=8) + elf.note(3, BUILD_ID, pad=8), 7, align=8)]
    elf.segments = [Segment(4, 4, 0, ".note", align=8)]
    assert ElfFile.from_bytes(elf.build()).build_id == BUILD_ID


@pytest.mark.parametrize("sizes", [(0xFFFFFFFF, 4), (4, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x7FFFFFFC, 8)])
def test_absurd_note_sizes_give_no_build_id(sizes: tuple[int, int]) -> None:
    elf = Elf()
    elf.sections = [Section(".note", struct.pack("<III", *sizes, 3) + b"GNU\0" + BUILD_ID, 7)]
    assert ElfFile.from_bytes(elf.build()).build_id == b""


@layouts
def test_debug_link(is_64: bool, big: bool) -> None:
    elf = program(is_64=is_64, big=big)
    crc = struct.pack(f"{elf.mark}I", 0x12345678)
    elf.sections.append(Section(".gnu_debuglink", b"x.debug\0" + crc))
    assert ElfFile.from_bytes(elf.build()).debug_link == ("x.debug", 0x12345678)


def test_alternate_link() -> None:
    elf = program()
    elf.sections.append(Section(".gnu_debugaltlink", b"../.dwz/x\0" + b"\1" * 20))
    assert ElfFile.from_bytes(elf.build()).alt_link == ("../.dwz/x", b"\1" * 20)


def test_damaged_debug_link_is_none() -> None:
    for data in (b"", b"\0\0\0\0\0\0\0\0", b"name", b"name\0\0\0\0\1", b"x" * 10000):
        elf = program()
        elf.sections.append(Section(".gnu_debuglink", data))
        assert ElfFile.from_bytes(elf.build()).debug_link is None


def test_mini_debug_info() -> None:
    inner = program(build_id=b"").build()
    elf = program()
    elf.sections.append(Section(".gnu_debugdata", lzma.compress(inner)))
    mini = ElfFile.from_bytes(elf.build()).mini_debug
    assert mini is not None
    assert bytes(mini.data) == inner


@pytest.mark.parametrize(
    "packed", [b"no xz", lzma.compress(b"no elf"), lzma.compress(b"\0" * (64 << 20)), lzma.compress(b"x" * 100)[:-9]]
)
def test_damaged_mini_debug_info_is_counted(packed: bytes) -> None:
    elf = program()
    elf.sections.append(Section(".gnu_debugdata", packed))
    read = ElfFile.from_bytes(elf.build())
    assert read.mini_debug is None
    assert [defect.kind for defect in read.defects] == ["corrupt .gnu_debugdata"]


def test_addresses_and_offsets() -> None:
    elf = ElfFile.from_bytes(program().build())
    offset = elf.segments[0].offset
    assert elf.address_of_offset(offset + 5) == 0x1005
    assert elf.offset_of_address(0x10FF) == offset + 255
    assert elf.address_of_offset(0) is None
    assert elf.offset_of_address(0x1100) is None


def test_read_takes_only_what_never_changes() -> None:
    elf = ElfFile.from_bytes(program().build())
    assert bytes(elf.read(0x2000, 4) or b"") == b"read"
    assert elf.read(0x3000, 4) is None
    assert bytes(elf.read(0x3000, 4, writable=True) or b"") == b"writ"


def test_read_across_the_end_is_none() -> None:
    elf = ElfFile.from_bytes(program().build())
    assert elf.read(0x200C, 4) is not None
    assert elf.read(0x200D, 4) is None
    assert elf.read(0x3000, 0x80, writable=True) is None
    assert elf.read(0x2000, -1) is None


# Hostile input ---------------------------------------------------------------------------------------------


def touch(elf: ElfFile) -> None:
    """Uses everything a file offers."""
    for section in elf.sections:
        elf.section_data(section)
    _ = elf.build_id, elf.debug_link, elf.alt_link, elf.mini_debug
    for address in (0, 0x1000, 0x2000, (1 << 64) - 1):
        elf.read(address, 16)
        elf.address_of_offset(address)
        elf.offset_of_address(address)


@layouts
def test_cut_at_every_byte(is_64: bool, big: bool) -> None:
    data = program(is_64=is_64, big=big).build()
    for size in range(len(data)):
        try:
            touch(ElfFile.from_bytes(data[:size]))
        except ElfError:
            assert size < 64


@layouts
@pytest.mark.parametrize("value", [0x00, 0xFF, 0x80, 0x01])
def test_every_header_byte_changed(is_64: bool, big: bool, value: int) -> None:
    built = program(is_64=is_64, big=big)
    built.sections.append(Section(".gnu_debuglink", b"x.debug\0abcd"))
    data = bytearray(built.build())
    for at in [*range(4, 400), *range(len(data) - 800, len(data))]:
        was, data[at] = data[at], value
        try:
            touch(ElfFile.from_bytes(bytes(data)))
        except ElfError:
            assert at < 64
        data[at] = was


def test_absurd_section_count_is_cut_and_counted() -> None:
    data = bytearray(program().build())
    struct.pack_into("<H", data, 60, 0xFEFF)
    elf = ElfFile.from_bytes(bytes(data))
    assert len(elf.sections) < 20
    assert "section headers cut short" in [defect.kind for defect in elf.defects]


def test_header_limit() -> None:
    elf = ElfFile.from_bytes(program().build(), limits=Limits(elf_headers=2))
    assert len(elf.segments) == 2
    assert len(elf.sections) == 2


def test_section_past_the_end_is_absent_and_counted() -> None:
    elf = program()
    elf.sections[1] = elf.sections[1]._replace(size=(1 << 64) - 1)
    read = ElfFile.from_bytes(elf.build())
    assert read.section_data(".rodata") is None
    assert [defect.kind for defect in read.defects] == ["section past the end of the file"]


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" + b"\0" * 100, b"\x7fELF\3\1" + b"\0" * 100])
def test_not_an_elf_file(data: bytes) -> None:
    with pytest.raises(ElfError):
        ElfFile.from_bytes(data)


# Files -----------------------------------------------------------------------------------------------------


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    empty = tmp_path / "empty"
    empty.touch()
    for path in (fifo, empty, tmp_path, Path("/dev/zero"), tmp_path / "none", Path("/proc/self/mem")):
        with pytest.raises(ElfError):
            ElfFile.open(path)
    with pytest.raises(ElfError):
        ElfFile.open("nul\0inside")


def test_many_open_files_do_not_run_into_the_limit(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from undwarf.elf import ElfFile; "
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)); "
        "files = [ElfFile.open(sys.argv[1]) for _ in range(200)]; print(len(files))"
    )
    path = tmp_path / "file"
    path.write_bytes(program().build())
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "200"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("compiled")
    source = folder / "a.c"
    source.write_text("int answer(void) { return 42; } int main(void) { return answer(); }\n")
    subprocess.run(["gcc", "-g", "-gz=zlib", "-Wl,--build-id", "-o", folder / "a", source], check=True)
    return folder / "a"


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_sections_as_readelf_lists_them(compiled: Path) -> None:
    text = subprocess.run(["readelf", "-SW", compiled], capture_output=True, text=True, check=True).stdout
    pattern = re.compile(r"^ +\[ *(\d+)\] (\S*) +\S+ +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", re.M)
    theirs = [
        (int(number), name, *(int(word, 16) for word in words))
        for number, name, *words in pattern.findall(text)
        if name
    ]
    elf = ElfFile.open(compiled)
    ours = [(s.index, s.name, s.address, s.offset, s.size, s.entry_size) for s in elf.sections if s.name]
    assert len(theirs) > 20
    assert ours == theirs


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_build_id_and_segments_as_readelf_prints_them(compiled: Path) -> None:
    text = subprocess.run(["readelf", "-nlW", compiled], capture_output=True, text=True, check=True).stdout
    elf = ElfFile.open(compiled)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", text)
    assert build_id is not None
    assert elf.build_id.hex() == build_id[1]
    loads = re.findall(r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x(\w+)", text, re.M)
    ours = [(s.offset, s.address, s.file_size, s.memory_size) for s in elf.segments if s.type == 1]
    assert ours == [tuple(int(word, 16) for word in load) for load in loads]


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="objcopy is not installed")
def test_compressed_debug_info_as_objcopy_unpacks_it(compiled: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    subprocess.run(["objcopy", "--decompress-debug-sections", compiled, plain], check=True)
    packed, unpacked = ElfFile.open(compiled), ElfFile.open(plain)
    section = packed.section(".debug_info")
    assert section is not None
    assert section.flags & SHF_COMPRESSED or section.size < 100
    assert bytes(packed.section_data(".debug_info") or b"1") == bytes(unpacked.section_data(".debug_info") or b"2")


@pytest.mark.parametrize(("offset", "address"), [((1 << 64) - 16, 0x1000), (0, (1 << 64) - 16)])
def test_segments_past_the_end_of_the_address_space_are_left_out(offset: int, address: int) -> None:
    good = Segment(1, 5, 0x1000, file_size=64)
    bad = Segment(1, 5, address, offset=offset, file_size=17)
    elf = ElfFile.from_bytes(Elf(segments=[good, bad]).build())
    assert [segment.address for segment in elf.loads] == [0x1000]
    assert [defect.kind for defect in elf.defects] == ["segment past the end of the address space"]


def test_a_segment_may_end_where_the_address_space_ends() -> None:
    last = Segment(1, 5, (1 << 64) - 4096, file_size=64, memory_size=4096)
    assert len(ElfFile.from_bytes(Elf(segments=[last]).build()).loads) == 1


def bombs(count: int, size: int) -> bytes:
    """A file with so many sections of zeros, each of ``size`` bytes, compressed."""
    made = Elf()
    packed = made.compressed(1, zlib.compress(bytes(size)), size)
    made.sections += [Section(f".debug_{number}", packed, flags=SHF_COMPRESSED) for number in range(count)]
    return made.build()


def test_compressed_sections_of_a_file_share_one_limit() -> None:
    size = 1 << 20
    data = bombs(5, size)
    elf = ElfFile.from_bytes(data, limits=Limits(file_ratio=0, file_unpacked_bytes=3 * size))
    found = [elf.section_data(section) for section in elf.sections[1:6]]
    assert [len(one) if one is not None else None for one in found] == [size] * 3 + [None] * 2
    assert [(one.kind, one.count) for one in elf.defects] == [("compressed section too large", 2)]


def test_a_section_that_is_unpacked_again_counts_once() -> None:
    size = 1 << 20
    elf = ElfFile.from_bytes(bombs(1, size), limits=Limits(file_ratio=0, file_unpacked_bytes=size))
    for _ in range(3):
        assert len(elf.section_data(".debug_0") or b"") == size
        elf.release()


def test_a_damaged_section_takes_nothing_from_the_limit() -> None:
    size = 1 << 20
    made = Elf()
    for name, data in ((".debug_a", b"damaged" * 1000), (".debug_b", zlib.compress(bytes(size)))):
        made.sections.append(Section(name, made.compressed(1, data, size), flags=SHF_COMPRESSED))
    elf = ElfFile.from_bytes(made.build(), limits=Limits(file_ratio=0, file_unpacked_bytes=size))
    assert elf.section_data(".debug_a") is None
    assert len(elf.section_data(".debug_b") or b"") == size


def test_a_small_file_does_not_unpack_to_gigabytes() -> None:
    size = 1 << 28
    elf = ElfFile.from_bytes(bombs(1, size))
    assert elf.section_data(".debug_0") is None
    assert [one.kind for one in elf.defects] == ["compressed section too large"]
