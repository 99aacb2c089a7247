"""Commands that fetch a missing file, according to this machine's distribution."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MAX_LIST_BYTES = 64 << 20
"""Larger file lists of packages are not read."""

_RELEASE = re.compile(r"[A-Za-z0-9._+~-]{1,100}\Z")


def quoted(text: str) -> str:
    """The text quoted as one word of a shell command."""
    import shlex

    return shlex.quote(text)


@dataclass(slots=True)
class Machine:
    """What the commands depend on: the distribution (``ID`` and ``ID_LIKE`` of os-release) in ``families``, and whether
    the recording was made on this host, else on ``host``. ``packages`` has the dpkg package of each missing file."""

    families: tuple[str, ...] = ()
    same_host: bool = False
    host: str = ""
    packages: dict[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, host: str, paths: Iterable[str] = (), root: str = "") -> "Machine":
        """This machine, for a recording of ``host`` with these missing files; ``root`` is prefixed to paths."""
        machine = cls(families(root), not host or host == os.uname().nodename, host)
        if machine.same_host and "debian" in machine.families:
            machine.packages = dpkg_packages(paths, f"{root}/var/lib/dpkg/info")
        return machine


def families(root: str = "") -> tuple[str, ...]:
    """The distribution and those that it descends from, by their names in os-release."""
    found: list[str] = []
    for path in (f"{root}/etc/os-release", f"{root}/usr/lib/os-release"):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")[: 1 << 16]
        except OSError:
            continue
        for line in text.split("\n"):
            key, _, value = line.partition("=")
            if key in ("ID", "ID_LIKE"):
                found += value.strip().strip("\"'").split()
        break
    if "ubuntu" in found and "debian" not in found:
        found.append("debian")
    return tuple(dict.fromkeys(found))


def dpkg_packages(paths: Iterable[str], folder: str = "/var/lib/dpkg/info") -> dict[str, str]:
    """The package of each of these files, from dpkg's file lists; files of no package are left out."""
    wanted: dict[bytes, str] = {}
    for path in paths:
        for name in (path, path.removeprefix("/usr"), f"/usr{path}"):
            wanted[b"\n" + os.fsencode(name) + b"\n"] = path
    found: dict[str, str] = {}
    try:
        lists = sorted(Path(folder).glob("*.list")) if wanted else []
    except OSError:
        return found
    for one in lists:
        try:
            if one.stat().st_size > MAX_LIST_BYTES:
                continue
            text = b"\n" + one.read_bytes() + b"\n"
        except OSError:
            continue
        for line, path in wanted.items():
            if path not in found and line in text:
                found[path] = one.name.removesuffix(".list").partition(":")[0]
    return found


def binary(name: str, build_id: str, machine: Machine) -> list[str]:
    """Commands that fetch a binary (a file or a kernel module), best first."""
    commands = []
    if not machine.same_host:
        commands.append(f"on {machine.host}: perf archive perf.data; here: tar xf perf.data.tar.bz2 -C ~/.debug")
    if build_id:
        commands.append(f"debuginfod-find executable {build_id}")
        commands.append("perf buildid-cache --add FILE, of a copy with this build-id")
    if name.startswith("/"):
        commands.append(f"put a copy at DIR{quoted(name)} and use --symfs DIR")
    return commands


def debug_file(name: str, build_id: str, machine: Machine) -> list[str]:
    """Commands that fetch the debug file of a binary."""
    commands = [f"debuginfod-find debuginfo {build_id}"] if build_id else []
    below = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    package = machine.packages.get(name)
    if package:
        # glibc's debug package is older than the automatic -dbgsym packages.
        commands.append("apt install " + ("libc6-dbg" if package == "libc6" else f"{quoted(package)}-dbgsym"))
    elif build_id and "debian" in machine.families:
        commands.append(f"find-dbgsym-packages {build_id}")
    elif build_id and {"fedora", "rhel"} & set(machine.families):
        commands.append(f"dnf --enablerepo='*debug*' install {below}")
    elif build_id and "suse" in " ".join(machine.families):
        commands.append(f"zypper install -C 'debuginfo(build-id)={build_id}'")
    if not build_id:
        commands.append("build it with -g, and with -Wl,--build-id so that its debug file can be found")
    return commands


def kernel(build_id: str, release: str, problem: str, machine: Machine) -> list[str]:
    """Commands that provide the kernel's symbols."""
    commands = []
    if "kptr_restrict" in problem and machine.same_host:
        commands.append("sudo sysctl kernel.kptr_restrict=0")
    if not machine.same_host:
        commands.append(f"on {machine.host}: sudo cat /proc/kallsyms > kallsyms; here: use --kallsyms kallsyms")
    if build_id:
        commands.append(f"debuginfod-find debuginfo {build_id}, and use --vmlinux with what it prints")
    if _RELEASE.match(release):
        if "debian" in machine.families:
            commands.append(f"apt install linux-image-{release}-dbg")
        elif {"fedora", "rhel"} & set(machine.families):
            commands.append(f"dnf debuginfo-install kernel-core-{release}")
    return commands
