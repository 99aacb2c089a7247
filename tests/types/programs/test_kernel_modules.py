"""Types of kernels and their modules: files that are not linked, per-cpu variables, where a recorded kernel ran."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.types.programs import accesses_of

from undwarf.cli.main import undwarf
from undwarf.elf import ElfFile
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.kernel_symbols import KernelTable, moved, table_of_kallsyms
from undwarf.types.open_resolver import open_resolver
from undwarf.types.sources.relocatable_objects import ELSEWHERE, as_linked

MODULE = """
struct inode { int mode; long size; struct inode *next; };
struct stats { long hits, misses; };
struct rq { int cpu; struct inode *current; };
extern struct stats shared;
extern struct rq runqueue;
extern unsigned long __per_cpu_offset[];
extern struct inode *find(long number);
struct inode first;
__attribute__((section(".data..percpu"))) struct stats own;
__attribute__((section(".gnu.linkonce.this_module"))) long this_module;
long padding(long a) { return a + 1; }
__attribute__((section(".text.unlikely"))) void rare(struct inode *n) { n->mode = 1; }
long look(long number)
{
	struct inode *n = find(number);
	shared.misses++;
	first.size = 3;
	asm volatile("incq %%gs:%P0" : : "i" (&own.misses));
	asm volatile("movq %%gs:%P1, %0" : "=r" (n) : "i" (&runqueue.current));
	return n->next->size;
}
struct copy { int cpu, left, right; };
struct queue { long length; struct copy *every; };
long here(struct queue *q)
{
	asm volatile("incl %%gs:4(%0)" : : "r" (q->every));
	return 0;
}
long there(struct queue *q, unsigned number)
{
	unsigned long every = (unsigned long)q->every;
	return ((struct copy *)(every + __per_cpu_offset[number]))->right;
}
long other(unsigned number)
{
	unsigned long named;
	asm("movq $runqueue, %0" : "=r" (named));
	return ((struct rq *)(named + __per_cpu_offset[number]))->cpu;
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object file built as the kernel builds its modules."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("module")
    (folder / "module.c").write_text(MODULE)
    flags = ["-g", "-O2", "-ffreestanding", "-fno-pic", "-mcmodel=kernel", "-mno-red-zone", "-fcf-protection=none"]
    made = folder / "module.ko"
    done = subprocess.run(["gcc", "-c", *flags, "-o", made, folder / "module.c"], capture_output=True)
    if done.returncode:
        pytest.skip("gcc does not build for x86-64 kernels")
    return made


def every_access(path: Path) -> list[dict[str, Any]]:
    """The answers for all code of an object file."""
    code = [
        range(one.address, one.address + one.size) for one in as_linked(ElfFile.open(path)).sections if one.flags & 4
    ]
    addresses = ",".join(f"{at:x}" for part in code for at in part)
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(path), "--at", addresses, "--json"])
    assert result.exit_code == 0, result.output
    return [one for one in accesses_of(result.stdout) if one["access"] and one["how"] != "stack"]


def test_a_modules_accesses_have_types(module: Path) -> None:
    found = {(one["type"], one["field"], one["how"]) for one in every_access(module)}
    assert ("struct inode", "size", "global") in found
    assert ("struct inode", "mode", "variable") in found


def test_a_modules_undefined_symbols_keep_their_names(module: Path) -> None:
    found = {(one["type"], one["field"], one["how"]) for one in every_access(module)}
    assert ("struct stats", "misses", "global") in found
    assert {name for name, _field, _how in found} >= {"struct stats"}


def test_per_cpu_variables_of_module_and_kernel_are_found(module: Path) -> None:
    found = {(one["type"], one["field"], one["how"]) for one in every_access(module)}
    assert ("struct stats", "misses", "percpu") in found
    assert ("struct rq", "current", "percpu") in found


def test_a_pointer_loaded_from_a_per_cpu_variable_is_known(module: Path) -> None:
    found = {(one["type"], one["field"]) for one in every_access(module)}
    assert ("struct inode", "next") in found


def test_a_pointer_to_a_per_cpu_object_points_to_this_cpus_copy(module: Path) -> None:
    assert ("struct copy", "left") in {(one["type"], one["field"]) for one in every_access(module)}


def test_a_per_cpu_pointer_plus_a_cpus_offset_is_that_cpus_copy(module: Path) -> None:
    assert ("struct copy", "right") in {(one["type"], one["field"]) for one in every_access(module)}


def test_a_per_cpu_address_plus_a_cpus_offset_is_that_cpus_copy(module: Path) -> None:
    assert ("struct rq", "cpu") in {(one["type"], one["field"]) for one in every_access(module)}


def test_code_of_a_file_that_is_not_linked_is_relocated(module: Path) -> None:
    elf = as_linked(ElfFile.open(module))
    names = set(elf.undefined.values())
    assert names == {"shared", "find", "runqueue", "__per_cpu_offset"}
    assert min(elf.undefined) == ELSEWHERE
    resolver = open_resolver(elf)
    assert resolver is not None
    table = symbols_of_elf(elf)
    assert table is not None
    look = table.address_of_name(b"look")
    assert look is not None
    place = resolver.instruction(look)
    assert place is not None
    called = {
        resolver.binary.name_at(made.target)
        for made in place[0]
        if made.target is not None and made.target >= ELSEWHERE
    }
    assert called == {"find"}


def test_bytes_beyond_a_section_are_not_read(module: Path) -> None:
    elf = as_linked(ElfFile.open(module))
    code = next(one for one in elf.sections if one.name == ".text")
    assert elf.read(code.address, code.size) is not None
    assert elf.read(code.address, code.size + 1) is None
    assert elf.read(1 << 40, 1) is None


def test_kallsyms_of_one_boot_are_moved_to_the_files_addresses() -> None:
    text = b"ffffffffa1000000 T _text\nffffffffa1000100 T vfs_read\nffffffffc0000000 t hook\t[ext4]\n"
    text += b"0000000000001000 A cpu\n"
    table, _why = table_of_kallsyms(text)
    assert table is not None
    found = moved(KernelTable(table, 0, "kallsyms", table, text), 0x20000000)
    assert found is not None
    assert found.address_of_name(b"vfs_read") == 0xFFFFFFFF81000100
    assert found.address_of_name(b"hook") is None
    assert found.address_of_name(b"cpu") is None


def test_symbols_of_another_boot_are_moved_to_this_boots() -> None:
    text = b"ffffffffa1000000 T _text\nffffffffa1000100 T vfs_read\n"
    table, _why = table_of_kallsyms(text)
    assert table is not None
    found = moved(KernelTable(table, 0x5000000, "kallsyms", table, text), 0x25000000)
    assert found is not None
    assert found.address_of_name(b"vfs_read") == 0xFFFFFFFF81000100


def test_a_type_is_drawn_from_a_binary_without_samples(module: Path) -> None:
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(module), "--type", "inode", "--json"])
    assert result.exit_code == 0, result.output
    (drawn,) = json.loads(result.stdout)["layouts"]
    assert (drawn["type"], drawn["size_bytes"]) == ("struct inode", 24)
    assert [(one["kind"], one["offset_bytes"], one["name"]) for one in drawn["layout"]] == [
        ("member", 0, "mode"),
        ("hole", 4, None),
        ("member", 8, "size"),
        ("member", 16, "next"),
    ]


def test_a_drawn_type_has_no_weights(module: Path) -> None:
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(module), "--type", "struct inode"])
    assert result.exit_code == 0, result.output
    assert "struct inode  24 bytes" in result.stdout
    assert "%" not in result.stdout


def test_a_type_that_does_not_exist_is_an_error(module: Path) -> None:
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(module), "--type", "nothing"])
    assert "no type named 'nothing'" in f"{result.output}{result.exception}"


def test_a_type_of_the_running_kernel_is_drawn_from_btf() -> None:
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.is_file():
        pytest.skip("this kernel has no BTF")
    result = CliRunner().invoke(undwarf, ["types", "--btf", str(path), "--type", "list_head", "--json"])
    assert result.exit_code == 0, result.output
    (drawn,) = json.loads(result.stdout)["layouts"]
    assert drawn["type"] == "struct list_head"
    assert [(one["name"], one["offset_bytes"]) for one in drawn["layout"]] == [("next", 0), ("prev", 8)]
