"""The commands that fetch a missing file, on machines of several distributions."""

from pathlib import Path

import pytest

from undwarf.system.fetch_hints import Machine, binary, debug_file, dpkg_packages, families, kernel

ID = "ab" * 20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ID=debian\n", ("debian",)),
        ('NAME="x"\nID=ubuntu\nID_LIKE=debian\n', ("ubuntu", "debian")),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', ("rocky", "rhel", "centos", "fedora")),
        ("", ()),
    ],
)
def test_families_of_a_distribution(tmp_path: Path, text: str, found: tuple[str, ...]) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text(text)
    assert families(str(tmp_path)) == found


def test_the_package_of_a_file_by_dpkgs_lists(tmp_path: Path) -> None:
    (tmp_path / "libx1:amd64.list").write_text("/.\n/lib/libx.so.1\n/lib/libx.so.10\n")
    (tmp_path / "tool.list").write_text("/.\n/usr/bin/tool")
    paths = ["/usr/lib/libx.so.1", "/usr/bin/tool", "/usr/bin/too"]
    assert dpkg_packages(paths, str(tmp_path)) == {"/usr/lib/libx.so.1": "libx1", "/usr/bin/tool": "tool"}
    assert dpkg_packages(["/x"], str(tmp_path / "none")) == {}


@pytest.mark.parametrize(
    ("machine", "command"),
    [
        (Machine(("debian",), packages={"/bin/a": "tools"}), "apt install tools-dbgsym"),
        (Machine(("debian",), packages={"/bin/a": "libc6"}), "apt install libc6-dbg"),
        (Machine(("ubuntu", "debian")), f"find-dbgsym-packages {ID}"),
        (Machine(("fedora",)), f"dnf --enablerepo='*debug*' install /usr/lib/debug/.build-id/ab/{ID[2:]}.debug"),
        (Machine(("opensuse-leap", "suse")), f"zypper install -C 'debuginfo(build-id)={ID}'"),
    ],
)
def test_debug_file_of_a_package(machine: Machine, command: str) -> None:
    assert debug_file("/bin/a", ID, machine) == [f"debuginfod-find debuginfo {ID}", command]


def test_debug_file_without_a_build_id() -> None:
    assert debug_file("/bin/a", "", Machine(("fedora",))) == [
        "build it with -g, and with -Wl,--build-id so that its debug file can be found"
    ]


def test_binary_of_another_machine() -> None:
    commands = binary("/opt/it's/a", ID, Machine(host="far"))
    assert commands[0].startswith("on far: perf archive perf.data")
    assert commands[1] == f"debuginfod-find executable {ID}"
    assert commands[-1] == "put a copy at DIR'/opt/it'\"'\"'s/a' and use --symfs DIR"


def test_hidden_kernel_symbols() -> None:
    here = Machine(("debian",), same_host=True)
    found = kernel(ID, "6.1.0-13-amd64", "/proc/kallsyms: kernel.kptr_restrict hides the addresses", here)
    assert found[0] == "sudo sysctl kernel.kptr_restrict=0"
    assert found[-1] == "apt install linux-image-6.1.0-13-amd64-dbg"


def test_a_kernels_release_cannot_add_to_the_command() -> None:
    assert not any("rm" in command for command in kernel("", "6.1; rm -rf ~", "", Machine(("debian",))))
