"""Finds the files of a kernel: its binary, boot image, modules and kallsyms."""

import os
from collections.abc import Iterator

from undwarf.elf import ElfFile
from undwarf.elf import notes as elf_notes
from undwarf.errors import ElfError
from undwarf.images import build_ids
from undwarf.images.finder import DELETED, Finder
from undwarf.images.local_caches import DEBUGINFO, EXECUTABLE
from undwarf.images.packed_binary import open_binary

MAX_DEPENDENCIES = 16 << 20
"""Maximum characters of a modules.dep."""


def vmlinux(finder: Finder, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
    """A ``vmlinux``: the user's, else one with the kernel's build-id in the usual places."""
    if finder.vmlinux:
        try:
            elf = open_binary(finder.vmlinux, limits=finder.limits, defects=finder.defects)
        except ElfError as error:
            return None, str(error)
        if build_id and elf.build_id and not build_ids.same(elf.build_id, build_id):
            return None, "the vmlinux has another build-id than the recorded kernel"
        return elf, ""
    if not build_id:
        return None, "the recording does not tell the kernel's build-id"
    places = [finder.cached(build_id, "elf"), finder.cached(build_id, "vmlinux")]
    if osrelease and "/" not in osrelease and osrelease not in (".", ".."):
        recorded = [f"/boot/vmlinux-{osrelease}", f"/lib/modules/{osrelease}/build/vmlinux"]
        recorded += [f"{top}/boot/vmlinux-{osrelease}" for top in finder.debug_dirs]
        recorded += [f"{top}/lib/modules/{osrelease}/vmlinux" for top in finder.debug_dirs]
        places += [path for path in map(finder.path_of, recorded) if path]
    places += [f"{top}/.build-id/{build_ids.directory(build_id)}.debug" for top in finder.all_debug_dirs()]
    for place in places:
        found = finder.verified(place, build_id)
        if found is not None:
            return found, ""
    found = finder.fetched(build_id, DEBUGINFO, "the kernel")
    return found, "" if found is not None else "no vmlinux with the kernel's build-id"


def boot_image(finder: Finder, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
    """The kernel inside of the boot image of the recorded release, else the reason.

    It has code and BTF, but no symbols; decompressing it takes a second. It must have the build-id.
    """
    none = "no vmlinux with the kernel's build-id"
    if finder.vmlinux:
        return None, vmlinux(finder, build_id, osrelease)[1]
    if not build_id:
        return None, "the recording does not tell the kernel's build-id"
    if not osrelease or "/" in osrelease or osrelease in (".", ".."):
        return None, none
    for recorded in (f"/boot/vmlinuz-{osrelease}", f"/lib/modules/{osrelease}/vmlinuz"):
        path = finder.path_of(recorded)
        if path is None or not os.path.isfile(path):
            continue
        try:
            elf = open_binary(path, limits=finder.limits, defects=finder.defects)
        except ElfError:
            continue
        if build_ids.same(elf.build_id, build_id):
            return elf, ""
    return None, none


def module(finder: Finder, recorded: str, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
    """A kernel module's file, packed or not, for the path or ``[name]`` it was recorded with, else the reason.

    With a build-id the file must have it; without one, it is the file of the recorded release.
    """
    problem = "no such module in /lib/modules of the recorded release"
    places = [finder.cached(build_id, "elf")] if build_id else []
    places += _module_paths(finder, recorded, osrelease)
    if build_id:
        places += [f"{top}/.build-id/{build_ids.directory(build_id)}.debug" for top in finder.all_debug_dirs()]
    for place in places:
        if not place or not os.path.isfile(place):
            continue
        try:
            elf = open_binary(place, limits=finder.limits, defects=finder.defects)
        except ElfError as error:
            problem = error.why or str(error)
            continue
        if not build_id or build_ids.same(elf.build_id, build_id):
            return elf, ""
        problem = "its build-id differs from the recorded one"
    found = finder.fetched(build_id, EXECUTABLE, recorded) if build_id else None
    return found, "" if found is not None else problem


def _module_paths(finder: Finder, recorded: str, osrelease: str) -> Iterator[str]:
    name = module_name(recorded)
    paths = [recorded.removesuffix(DELETED)] if recorded.startswith("/") else []
    if osrelease and "/" not in osrelease and osrelease not in (".", ".."):
        for top in ("/lib/modules", "/usr/lib/modules"):
            base = finder.path_of(f"{top}/{osrelease}")
            below = _module_below(base, name) if base else ""
            if below:
                paths.append(f"{top}/{osrelease}/{below}")
                bare = below.rpartition(".ko")[0] + ".ko"
                paths += [f"{debug}/lib/modules/{osrelease}/{bare}.debug" for debug in finder.debug_dirs]
                break
    for path in paths:
        yield finder.path_of(path) or ""


def kallsyms_files(finder: Finder, build_id: bytes) -> list[str]:
    """Paths of kallsyms files that belong to the recorded kernel, best first."""
    if finder.kallsyms:
        return [finder.kallsyms]
    found = []
    if build_id:
        text = build_id.hex()
        found = [
            finder.cached(build_id, "kallsyms"),
            f"{finder.buildid_dir}/[kernel.kallsyms]/{text}/kallsyms" if finder.buildid_dir else "",
        ]
        if build_ids.same(running_kernel_build_id(), build_id):
            found.insert(0, "/proc/kallsyms")
    return [path for path in found if path]


def running_kernel_build_id() -> bytes:
    """The build-id of the running kernel; empty if unknown."""
    import sys

    try:
        with open("/sys/kernel/notes", "rb") as file:
            return elf_notes.build_id(memoryview(file.read(1 << 16)), sys.byteorder)
    except OSError:
        return b""


def module_name(recorded: str) -> str:
    """A module's name as the kernel has it, from ``[name]`` or the path of its file: dashes are underscores."""
    name = recorded.removesuffix(DELETED).rpartition("/")[2].strip("[]")
    return name.partition(".ko")[0].replace("-", "_")


def _module_below(directory: str, name: str) -> str:
    """The path of a module's file below its release's directory, by the first column of ``modules.dep``."""
    try:
        with open(f"{directory}/modules.dep", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            for line in file.read(MAX_DEPENDENCIES).split("\n"):
                path = line.partition(":")[0]
                if module_name(path) == name and ".." not in path.split("/"):
                    return path
    except OSError:
        pass
    return ""
