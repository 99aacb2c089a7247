"""Where debug files are looked for: dwz's common files, split DWARF, perf's cache, containers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.elf_builder import BUILD_ID, Section, program

from undwarf.elf import ElfFile
from undwarf.images import Finder
from undwarf.images.container_files import Containers, inner_pid
from undwarf.images.local_caches import perf_cache

OTHER_ID = b"\xee" * 20


def finder(tmp_path: Path, **options: object) -> Finder:
    return Finder(debug_dirs=(str(tmp_path / "debug"),), buildid_dir=str(tmp_path / "cache"), **options)


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def common() -> bytes:
    return program(build_id=OTHER_ID).build()


def linked(path: Path, name: str, section: str = ".gnu_debugaltlink") -> ElfFile:
    """A file that says where its common parts are."""
    elf = program()
    data = name.encode() + b"\0"
    if section == ".debug_sup":
        data = b"\x05\0\0" + data + bytes([len(OTHER_ID)])
    elf.sections.append(Section(section, data + OTHER_ID))
    return ElfFile.open(put(path, elf.build()))


# dwz -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", [".gnu_debugaltlink", ".debug_sup"])
def test_common_file_beside_the_file_that_names_it(tmp_path: Path, section: str) -> None:
    put(tmp_path / "common", common())
    elf = linked(tmp_path / "bin" / "a", "../common", section)
    found = finder(tmp_path).alt_file(elf)
    assert found is not None
    assert found.build_id == OTHER_ID


def test_a_relative_name_starts_from_the_real_place(tmp_path: Path) -> None:
    linked(tmp_path / "debug" / "usr" / "bin" / "a.debug", "../../.dwz/a")
    put(tmp_path / "debug" / ".dwz" / "a", common())
    link = tmp_path / "elsewhere" / "ab" / "cd.debug"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "debug" / "usr" / "bin" / "a.debug")
    assert Finder(debug_dirs=(), buildid_dir="").alt_file(ElfFile.open(link)) is not None


def test_common_file_in_the_dwz_folder_of_a_debug_directory(tmp_path: Path) -> None:
    put(tmp_path / "debug" / ".dwz" / "a", common())
    assert finder(tmp_path).alt_file(linked(tmp_path / "a", "/nowhere/a")) is not None


def test_common_file_with_another_build_id_is_not_used(tmp_path: Path) -> None:
    put(tmp_path / "common", program(build_id=b"\xdd" * 20).build())
    assert finder(tmp_path).alt_file(linked(tmp_path / "a", "common")) is None


@pytest.mark.parametrize("name", ["../../secret", "link", "/secret"])
def test_common_file_below_symfs_stays_there(tmp_path: Path, name: str) -> None:
    put(tmp_path / "secret", common())
    elf = linked(tmp_path / "root" / "bin" / "a", name)
    (tmp_path / "root" / "bin" / "link").symlink_to("/secret")
    use = finder(tmp_path, symfs=str(tmp_path / "root"))
    assert use.alt_file(elf) is None
    put(tmp_path / "root" / "secret", common())
    assert use.alt_file(elf) is not None


def test_a_file_that_dwz_made(tmp_path: Path) -> None:
    if not shutil.which("dwz") or not shutil.which("gcc"):
        pytest.skip("dwz or gcc is not installed")
    (tmp_path / "t.h").write_text("".join(f"struct s{i} {{ int a{i}; struct s{i} *n; }};\n" for i in range(60)))
    uses = "".join(f"struct s{i} v{i};\n" for i in range(60))
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text('#include "t.h"\n' + uses + "int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", name, f"{name}.c"], cwd=tmp_path, check=True)
    done = subprocess.run(["dwz", "-m", "common", "-M", "common", "a", "b"], cwd=tmp_path, capture_output=True)
    elf = ElfFile.open(tmp_path / "a")
    if done.returncode or elf.alt_link is None:
        pytest.skip("dwz makes no common file here")
    found = finder(tmp_path).alt_file(elf)
    assert found is not None
    assert found.path == str(tmp_path / "common")


# Split DWARF -----------------------------------------------------------------------------------------------


def test_dwo_below_the_directory_it_was_compiled_in(tmp_path: Path) -> None:
    put(tmp_path / "build" / "obj" / "a.dwo", program().build())
    elf = ElfFile.open(put(tmp_path / "bin" / "a", program().build()))
    found = next(finder(tmp_path).dwo_files("obj/a.dwo", str(tmp_path / "build"), elf), None)
    assert found is not None
    assert found.path == str(tmp_path / "build" / "obj" / "a.dwo")


@pytest.mark.parametrize("place", ["obj/a.dwo", "a.dwo"])
def test_dwo_beside_the_binary(tmp_path: Path, place: str) -> None:
    put(tmp_path / "bin" / place, program().build())
    elf = ElfFile.open(put(tmp_path / "bin" / "a", program().build()))
    assert next(finder(tmp_path).dwo_files("obj/a.dwo", "/gone", elf), None) is not None


def test_all_places_of_a_dwo_are_told_for_the_caller_to_choose(tmp_path: Path) -> None:
    put(tmp_path / "build" / "a.dwo", program(build_id=OTHER_ID).build())
    put(tmp_path / "bin" / "a.dwo", program().build())
    elf = ElfFile.open(put(tmp_path / "bin" / "a", program().build()))
    use = finder(tmp_path)
    found = list(use.dwo_files("a.dwo", str(tmp_path / "build"), elf))
    assert [file.path for file in found] == [str(tmp_path / "build" / "a.dwo"), str(tmp_path / "bin" / "a.dwo")]


def test_names_in_the_dwarf_stay_below_symfs(tmp_path: Path) -> None:
    put(tmp_path / "secret.dwo", program().build())
    elf = ElfFile.open(put(tmp_path / "root" / "bin" / "a", program().build()))
    use = finder(tmp_path, symfs=str(tmp_path / "root"))
    assert next(use.dwo_files("../../secret.dwo", "/bin", elf, "/bin/a"), None) is None
    assert next(use.dwo_files(str(tmp_path / "secret.dwo"), "/", elf, "/bin/a"), None) is None
    put(tmp_path / "root" / "src" / "secret.dwo", program().build())
    assert next(use.dwo_files("secret.dwo", "/src", elf, "/bin/a"), None) is not None


def test_a_dwo_that_is_no_elf_file_is_counted(tmp_path: Path) -> None:
    put(tmp_path / "a.dwo", b"text")
    elf = ElfFile.open(put(tmp_path / "a", program().build()))
    use = finder(tmp_path)
    assert next(use.dwo_files("a.dwo", str(tmp_path), elf), None) is None
    assert [defect.kind for defect in use.defects] == ["debug file cannot be read"]


@pytest.mark.parametrize(
    "place", ["bin/a.dwp", "debug/bin/a.dwp", f"debug/.build-id/{BUILD_ID.hex()[:2]}/{BUILD_ID.hex()[2:]}.dwp"]
)
def test_package_of_dwo_files(tmp_path: Path, place: str) -> None:
    put(tmp_path / place, program().build())
    elf = ElfFile.open(put(tmp_path / "bin" / "a", program().build()))
    found = next(finder(tmp_path).dwp_files(elf, "/bin/a"), None)
    assert found is not None
    assert found.path == str(tmp_path / place)


def test_package_named_after_the_binary_beside_its_debug_file(tmp_path: Path) -> None:
    put(tmp_path / "a.dwp", program().build())
    assert (
        next(finder(tmp_path).dwp_files(ElfFile.open(put(tmp_path / "a.debug", program().build()))), None) is not None
    )


# perf's cache ----------------------------------------------------------------------------------------------


def test_the_place_of_perfs_cache(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert perf_cache(home) == f"{tmp_path}/.debug"
    (tmp_path / ".perfconfig").write_text("[report]\ndir = /no\n[BuildID]\n # dir = /no\n dir = ~/perf-files\n")
    assert perf_cache(home) == f"{tmp_path}/perf-files"
    (tmp_path / "config").write_text('[buildid]\n\tdir = "/srv/x"\n')
    assert perf_cache({**home, "PERF_CONFIG": str(tmp_path / "config")}) == "/srv/x"
    assert perf_cache({**home, "PERF_BUILDID_DIR": "/srv/y"}) == "/srv/y"


def test_perfs_cache_is_where_perf_is_told_to_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = BUILD_ID.hex()
    put(tmp_path / "there" / ".build-id" / text[:2] / text[2:] / "elf", program().build())
    monkeypatch.setenv("PERF_BUILDID_DIR", str(tmp_path / "there"))
    assert Finder(debug_dirs=()).binary("/nowhere/a", BUILD_ID)[0] is not None


# Containers ------------------------------------------------------------------------------------------------


def fake_proc(tmp_path: Path, *namespaces: str) -> Path:
    """A /proc of processes 1, 2, ... in these mount namespaces."""
    proc = tmp_path / "proc"
    for name, namespace in zip(("self", *map(str, range(1, 9))), ("mnt:[1]", *namespaces), strict=False):
        (proc / name / "ns").mkdir(parents=True)
        (proc / name / "ns" / "mnt").symlink_to(namespace)
        (proc / name / "root" / "app").mkdir(parents=True)
    return proc


def test_one_root_for_each_foreign_namespace(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, "mnt:[1]", "mnt:[2]", "mnt:[2]", "mnt:[3]")
    found = Containers(lambda: range(1, 9), str(proc)).roots()
    assert found == [f"{proc}/2/root", f"{proc}/4/root"]


def test_binary_and_debug_file_inside_a_container(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, "mnt:[2]")
    root = proc / "1" / "root"
    elf = program()
    elf.sections.append(Section(".gnu_debuglink", b"a.dbg\0\0\0" + b"\0" * 4))
    put(root / "app" / "a", elf.build())
    put(root / "app" / ".debug" / "a.dbg", program().build())
    use = finder(tmp_path)
    use.containers = Containers(lambda: [1], str(proc))
    found, problem = use.binary("/app/a", BUILD_ID)
    assert (found is not None, problem) == (True, "")
    debug = use.debug_file(found, "/app/a") if found is not None else None
    assert debug is not None
    assert debug.path == f"{root}/app/.debug/a.dbg"


def test_a_container_proves_its_files_by_build_id(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, "mnt:[2]")
    put(proc / "1" / "root" / "app" / "a", program(build_id=OTHER_ID).build())
    use = finder(tmp_path)
    use.containers = Containers(lambda: [1], str(proc))
    assert use.binary("/app/a", BUILD_ID)[0] is None
    assert use.binary("/app/a", b"")[0] is None


def test_a_link_in_a_container_starts_at_its_root(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, "mnt:[2]")
    root = proc / "1" / "root"
    put(tmp_path / "outside", program().build())
    (root / "app" / "a").symlink_to(tmp_path / "outside")
    use = finder(tmp_path)
    use.containers = Containers(lambda: [1], str(proc))
    assert use.binary("/app/a", BUILD_ID)[0] is None
    (root / "app" / "b").symlink_to("/real")
    put(root / "real", program().build())
    assert use.binary("/app/b", BUILD_ID)[0] is not None


def test_a_real_mount_namespace(tmp_path: Path) -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    source = put(tmp_path / "a", program().build())
    (tmp_path / "app").mkdir()
    script = f"mount -t tmpfs none {tmp_path}/app && cp {source} {tmp_path}/app/a && echo ready && exec sleep 60"
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            pytest.skip("no mount namespaces here")
        use = finder(tmp_path)
        assert use.binary(f"{tmp_path}/app/a", BUILD_ID)[0] is None
        use.containers = Containers(lambda: [os.getpid(), child.pid])
        assert use.binary(f"{tmp_path}/app/a", BUILD_ID)[0] is not None
    finally:
        child.kill()
        child.communicate()


def test_the_number_of_a_process_in_its_own_namespace(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tx\nNSpid:\t7\t3\n")
    assert inner_pid(7, str(tmp_path)) == 3
    assert inner_pid(8, str(tmp_path)) == 8
