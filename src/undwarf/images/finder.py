"""Finds files: the binary that was mapped, its separate debug file, the kernel's symbols.

A file is only used when it is the right one: where the recording tells the build-id, the file must carry it.
The places are those of perf, gdb and elfutils: the recorded path under ``symfs``, perf's own cache
(``~/.debug``), and the debug directories with their ``.build-id`` folders.
"""

import os
import stat
import zlib

from undwarf.diagnostics import Defects
from undwarf.elf import ElfFile
from undwarf.elf import notes as elf_notes
from undwarf.errors import ElfError
from undwarf.images import build_ids
from undwarf.images.paths import confined, usable
from undwarf.images.vdso import own_vdso
from undwarf.limits import DEFAULT, Limits

DELETED = " (deleted)"
"""What the kernel puts behind the path of a file that has no name any more."""


class Finder:
    """Where to look for files.

    ``symfs`` is the root under which recorded paths are looked up, and never left; ``debug_dirs`` hold
    separate debug files; ``buildid_dir`` is perf's cache; ``kallsyms`` and ``vmlinux`` are files that the user
    names and that win over all others.
    """

    def __init__(
        self,
        symfs: str = "",
        debug_dirs: tuple[str, ...] = ("/usr/lib/debug",),
        buildid_dir: str = "~/.debug",
        kallsyms: str = "",
        vmlinux: str = "",
        *,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        self.symfs = "" if symfs in ("", "/") else os.path.abspath(symfs)  # noqa: PTH100
        self.debug_dirs = debug_dirs
        self.buildid_dir = os.path.expanduser(buildid_dir)  # noqa: PTH111
        self.kallsyms = kallsyms
        self.vmlinux = vmlinux
        self.limits = limits
        self.defects = Defects() if defects is None else defects

    def path_of(self, recorded: str) -> str | None:
        """The path on this machine of a path of the recording; None where it cannot be one."""
        if not usable(recorded):
            return None
        return confined(self.symfs, recorded) if self.symfs else recorded

    def open(self, path: str) -> ElfFile:
        """Opens an ELF file with this finder's limits. Raises ElfError."""
        return ElfFile.open(path, limits=self.limits, defects=self.defects)

    # The binary ----------------------------------------------------------------------------------------

    def binary(self, recorded: str, build_id: bytes) -> tuple[ElfFile | None, str]:
        """The ELF file that was mapped as ``recorded``, else None and the reason.

        With a build-id, only a file that carries it is taken: at the path, then from perf's cache. Without
        one, the file at the path is trusted, unless the name says that it was deleted.
        """
        deleted = recorded.endswith(DELETED)
        path = self.path_of(recorded.removesuffix(DELETED))
        problem = "no such path" if usable(recorded) else "not a path"
        if path is not None and (build_id or not deleted):
            try:
                elf = self.open(path)
            except ElfError as error:
                problem = error.why or str(error)
            else:
                if not build_id or build_ids.same(elf.build_id, build_id):
                    return elf, ""
                problem = "its build-id differs from the recorded one"
        elif deleted:
            problem = "the file was deleted, and no build-id tells which one it was"
        if build_id:
            cached = self._verified(self.cached(build_id, "elf"), build_id)
            if cached is not None:
                return cached, ""
            if problem.startswith("its build-id"):
                self.defects.add("build-id mismatch", recorded)
        return None, problem

    def vdso(self, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
        """The vdso, from perf's cache, else from this process where it runs the recording's kernel release."""
        if build_id:
            found = self._verified(self.cached(build_id, "vdso"), build_id)
            if found is not None:
                return found, ""
        if not osrelease or osrelease != os.uname().release:
            return None, "the vdso belongs to another kernel than the one that runs here"
        try:
            elf = ElfFile.from_bytes(own_vdso(), "[vdso]", limits=self.limits, defects=self.defects)
        except ElfError as error:
            return None, error.why
        if build_id and not build_ids.same(elf.build_id, build_id):
            return None, "its build-id differs from the recorded one"
        return elf, ""

    def cached(self, build_id: bytes, what: str) -> str:
        """The path in perf's cache of an image's ``elf``, ``debug``, ``vdso`` or ``kallsyms`` file.

        ``.build-id/xx/rest`` links to a directory of such files or, from before perf 4.7, to the file itself.
        """
        if not self.buildid_dir or len(build_id) < 2:
            return ""
        entry = f"{self.buildid_dir}/.build-id/{build_ids.directory(build_id)}"
        try:
            if stat.S_ISDIR(os.stat(entry).st_mode):  # noqa: PTH116
                return f"{entry}/{what}"
        except OSError:
            return ""
        return entry if what != "debug" else ""

    def _verified(self, path: str, build_id: bytes) -> ElfFile | None:
        """The ELF file at ``path`` if it is there and carries the build-id."""
        if not path or not os.path.isfile(path):  # noqa: PTH113
            return None
        try:
            elf = self.open(path)
        except ElfError:
            return None
        return elf if build_ids.same(elf.build_id, build_id) else None

    # Its debug file ------------------------------------------------------------------------------------

    def debug_file(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        """The separate debug file of a binary: by build-id, by ``.gnu_debuglink``, by the binary's path."""
        build_id = elf.build_id
        if len(build_id) >= 2:
            below = f".build-id/{build_ids.directory(build_id)}.debug"
            for directory in self._debug_dirs():
                found = self._verified(f"{directory}/{below}", build_id)
                if found is not None:
                    return found
            found = self._verified(self.cached(build_id, "debug"), build_id)
            if found is not None:
                return found
        return self._by_debug_link(elf, recorded) or self._by_path(elf, recorded)

    def alternate_file(self, elf: ElfFile) -> ElfFile | None:
        """The file that ``.gnu_debugaltlink`` names (dwz's common parts), found by its build-id."""
        link = elf.alt_link
        if link is None or len(link[1]) < 2:
            return None
        for directory in self._debug_dirs():
            found = self._verified(f"{directory}/.build-id/{build_ids.directory(link[1])}.debug", link[1])
            if found is not None:
                return found
        beside = os.path.normpath(os.path.join(os.path.dirname(elf.path), link[0]))  # noqa: PTH118, PTH120
        return self._verified(beside, link[1])

    def _debug_dirs(self) -> list[str]:
        """The debug directories under ``symfs``, then those of this machine."""
        if not self.symfs:
            return list(self.debug_dirs)
        inside = (confined(self.symfs, directory) for directory in self.debug_dirs)
        return [directory for directory in inside if directory] + list(self.debug_dirs)

    def _by_debug_link(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        link = elf.debug_link
        if link is None or "/" in link[0] or link[0] in (".", ".."):
            return None
        directory = os.path.dirname(recorded)  # noqa: PTH120
        places = [f"{directory}/{link[0]}", f"{directory}/.debug/{link[0]}"]
        places += [f"{top}{directory}/{link[0]}" for top in self.debug_dirs]
        for place in places:
            path = self.path_of(place)
            if path is not None and path != elf.path:
                found = self._debug_candidate(path, elf, link[1])
                if found is not None:
                    return found
        return None

    def _by_path(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        """Fedora's and Ubuntu's old places; without a build-id in both files nothing says that they belong."""
        if not elf.build_id:
            return None
        for top in self.debug_dirs:
            for place in (f"{top}{recorded}.debug", f"{top}{recorded}"):
                path = self.path_of(place)
                found = self._verified(path, elf.build_id) if path else None
                if found is not None:
                    return found
        return None

    def _debug_candidate(self, path: str, elf: ElfFile, crc: int) -> ElfFile | None:
        if not os.path.isfile(path):  # noqa: PTH113
            return None
        try:
            found = self.open(path)
        except ElfError:
            return None
        if elf.build_id and found.build_id:
            return found if build_ids.same(elf.build_id, found.build_id) else None
        if zlib.crc32(found.data) != crc:
            self.defects.add("debug file with another checksum", path)
            return None
        return found

    # The kernel ----------------------------------------------------------------------------------------

    def kernel_elf(self, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
        """A ``vmlinux``: the one the user names, else one with the kernel's build-id in the usual places."""
        if self.vmlinux:
            try:
                elf = self.open(self.vmlinux)
            except ElfError as error:
                return None, str(error)
            if build_id and elf.build_id and not build_ids.same(elf.build_id, build_id):
                return None, "the vmlinux has another build-id than the recorded kernel"
            return elf, ""
        if not build_id:
            return None, "the recording does not tell the kernel's build-id"
        places = [self.cached(build_id, "elf"), self.cached(build_id, "vmlinux")]
        if osrelease and "/" not in osrelease and osrelease not in (".", ".."):
            recorded = [f"/boot/vmlinux-{osrelease}", f"/lib/modules/{osrelease}/build/vmlinux"]
            recorded += [f"{top}/boot/vmlinux-{osrelease}" for top in self.debug_dirs]
            recorded += [f"{top}/lib/modules/{osrelease}/vmlinux" for top in self.debug_dirs]
            places += [path for path in map(self.path_of, recorded) if path]
        places += [f"{top}/.build-id/{build_ids.directory(build_id)}.debug" for top in self._debug_dirs()]
        for place in places:
            found = self._verified(place, build_id)
            if found is not None:
                return found, ""
        return None, "no vmlinux with the kernel's build-id"

    def kallsyms_files(self, build_id: bytes) -> list[str]:
        """Paths of kallsyms files that belong to the recorded kernel, best first."""
        if self.kallsyms:
            return [self.kallsyms]
        found = []
        if build_id:
            text = build_id.hex()
            found = [
                self.cached(build_id, "kallsyms"),
                f"{self.buildid_dir}/[kernel.kallsyms]/{text}/kallsyms" if self.buildid_dir else "",
            ]
            if build_ids.same(running_kernel_build_id(), build_id):
                found.insert(0, "/proc/kallsyms")
        return [path for path in found if path]


def running_kernel_build_id() -> bytes:
    """The build-id of the kernel that runs here; empty where it does not tell."""
    import sys

    try:
        with open("/sys/kernel/notes", "rb") as file:
            return elf_notes.build_id(memoryview(file.read(1 << 16)), sys.byteorder)
    except OSError:
        return b""
