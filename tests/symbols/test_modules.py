"""Names in kernel modules: right for the boot and the place of the recording, or none; code announced for a while."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.perfdata.build import CALLCHAIN, PLAIN, Attr, Build

import undwarf
from undwarf.elf import ElfFile
from undwarf.elf.section_layout import text_offsets
from undwarf.symbols.kernel_modules import first_code, read_bases, symbols_of_module

KERNEL = (1 << 64) - 128
TEXT = 0xFFFFFFFF81000000
MODULE = 0xFFFFFFFFC0100000
RELEASE = "6.1.0-test"
KALLSYMS = f"""\
{TEXT:x} T _text
{TEXT + 0x100:x} t in_kernel
{TEXT + 0x10000:x} T _etext
{MODULE + 0x40:x} t mod_one\t[mod]
{MODULE + 0x80:x} t mod_two\t[mod]
{MODULE - 0x1000:x} r mod_data\t[mod]
{MODULE + 0x100000:x} t other_one\t[other]
"""


def names(
    tmp_path: Path,
    addresses: list[int],
    *,
    shift: int = 0,
    mapped: int = MODULE,
    module: bytes = b"[mod]",
    kallsyms: str = KALLSYMS,
    extra: "list[tuple[int, bytes, int, int, int]] | None" = None,  # time, name, address, size, flags
    root: str | None = None,
) -> list[str]:
    """Names of kernel addresses, sampled at 1000, 2000, ... ns; ``extra`` are KSYMBOL records."""
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    data = [
        build.mmap(attr, b"[kernel.kallsyms]_text", 0xFFFFFFFF, TEXT + shift, 0x10000, TEXT + shift, 1),
        build.mmap(attr, module, 0xFFFFFFFF, mapped, 0x2000, 0, 1),
    ]
    for time, name, address, size, flags in extra or []:
        body = build.pack("QIHH", address, size, 1, flags) + build.name(name)
        data.append(build.plain(attr, 17, body, time=time))
    for number, address in enumerate(addresses, 1):
        data.append(build.sample(attr, ip=address, time=1000 * number, chain=(KERNEL, address), misc=1))
    features = {4: build.string(RELEASE)}
    (tmp_path / "perf.data").write_bytes(build.file([attr], data, features=features))
    symbols = tmp_path / "boot" / "kallsyms"
    symbols.parent.mkdir(exist_ok=True)
    symbols.write_text(kallsyms)
    with undwarf.open(tmp_path / "perf.data", kallsyms=symbols, symfs=root) as recording:
        return [sample.stack[0].name for sample in recording.profile().samples]


def test_kallsyms_of_the_same_boot(tmp_path: Path) -> None:
    assert names(tmp_path, [TEXT + 0x110, MODULE + 0x44, MODULE + 0x80]) == ["in_kernel", "mod_one", "mod_two"]


def test_another_boot_leaves_modules_without_a_name(tmp_path: Path) -> None:
    # The kernel moved by 16 MB, and the module lies where `other` lay.
    found = names(tmp_path, [TEXT + 0x1000110, MODULE + 0x100044], shift=0x1000000, mapped=MODULE + 0x100000)
    assert found == ["in_kernel", "[unknown]"]


def test_a_module_that_was_loaded_anew(tmp_path: Path) -> None:
    assert names(tmp_path, [MODULE + 0x200044], mapped=MODULE + 0x200000) == ["[unknown]"]


def test_a_copy_of_proc_modules_says_where_it_lay(tmp_path: Path) -> None:
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "modules").write_text(f"other 100 0 - Live 0x0\nmod 8192 1 - Live 0x{MODULE:x} (OE)\n")
    found = names(tmp_path, [MODULE + 0x100044, MODULE + 0x100084], shift=0x1000000, mapped=MODULE + 0x100000)
    assert found == ["mod_one", "mod_two"]


def test_symbols_of_a_module_do_not_name_the_moved_kernel(tmp_path: Path) -> None:
    # With the kernel's delta, an address of the kernel would hit a module's symbol.
    kallsyms = KALLSYMS + f"{TEXT + 0x200:x} t wrong\t[mod]\n"
    assert names(tmp_path, [TEXT + 0x1000204], shift=0x1000000, kallsyms=kallsyms) == ["in_kernel"]


def test_first_code_is_that_of_functions() -> None:
    text = KALLSYMS.encode()
    assert first_code(text, b"mod") == MODULE + 0x40
    assert first_code(text, b"mo") is None
    assert first_code(b"junk t x\t[mod]\n\t[mod]", b"mod") is None


def test_hidden_bases_are_none(tmp_path: Path) -> None:
    (tmp_path / "modules").write_text("a 1 0 - Live 0x0000000000000000\nb\nc 1 0 - Live 0xzz\n")
    assert read_bases(str(tmp_path / "kallsyms")) == {}


# The module's file -----------------------------------------------------------------------------------------


@pytest.fixture
def module_file(tmp_path: Path) -> Path:
    """A relocatable file with two code sections and one of initialisation, of the test's kernel release."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source = tmp_path / "mod.c"
    source.write_text(
        """
        __attribute__((section(".init.text"))) int starts(int x) { return x * 7; }
        int first(int x) { return x + 1; }
        static __attribute__((noinline, used)) int second(int x) { return x * x; }
        __attribute__((section(".text.unlikely"))) int rare(int x) { return second(x) - 1; }
        int data = 5;
        """
    )
    base = tmp_path / "root" / "lib" / "modules" / RELEASE
    (base / "kernel").mkdir(parents=True)
    target = base / "kernel" / "mod.ko"
    subprocess.run(["gcc", "-c", "-O1", "-fno-pie", "-o", target, source], check=True)
    (base / "modules.dep").write_text("kernel/mod.ko:\n")
    return target


def test_sections_are_laid_out_as_the_kernel_does(module_file: Path) -> None:
    elf = ElfFile.open(module_file)
    places = {elf.sections[index].name: at for index, at in text_offsets(elf).items()}
    assert places[".text"] == 0
    assert places[".text.unlikely"] >= next(one.size for one in elf.sections if one.name == ".text")
    assert ".init.text" not in places


def test_names_from_the_modules_file(module_file: Path, tmp_path: Path) -> None:
    elf = ElfFile.open(module_file)
    table = symbols_of_module(elf)
    assert table is not None
    starts, _ends = table.ranges()
    by_name = {table.names_at(i)[0].decode(): start for i, start in enumerate(starts)}
    assert set(by_name) == {"first", "second", "rare"}
    base = MODULE + 0x500000
    found = names(
        tmp_path,
        [base + by_name["second"] + 1, base + by_name["rare"], base + 0x1800],
        mapped=base,
        kallsyms=KALLSYMS.replace("[mod]", "[another]"),
        root=str(tmp_path / "root"),
    )
    assert found == ["second", "rare", "[unknown]"]


# Announced code --------------------------------------------------------------------------------------------

BPF = 0xFFFFFFFFC0000000


def test_announced_code_is_that_of_its_time(tmp_path: Path) -> None:
    one, two = b"bpf_prog_1111_one", b"bpf_prog_2222_two"
    extra = [(10, one, BPF, 64, 0), (1500, one, BPF, 64, 1), (2500, two, BPF, 64, 0), (3500, two, BPF, 64, 1)]
    assert names(tmp_path, [BPF + 8] * 4, extra=extra) == [one.decode(), "[unknown]", two.decode(), "[unknown]"]


def test_one_name_at_two_places(tmp_path: Path) -> None:
    one = b"bpf_prog_1111_one"
    extra = [(10, one, BPF, 64, 0), (1500, one, BPF, 64, 1), (1600, one, BPF + 0x100, 64, 0)]
    assert names(tmp_path, [BPF + 8, BPF + 0x108], extra=extra) == [one.decode()] * 2
