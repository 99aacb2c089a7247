"""Finds files: the binary that was mapped, its separate debug file.

Files are verified: if the recording has a build-id, the file must have the same one.
Places searched are those of perf, gdb and elfutils: the recorded path under ``symfs``, in containers that still run,
perf's own cache (``~/.debug``), the debug directories with their ``.build-id`` folders, the cache of debuginfod's
clients and, where the user asks for it, debuginfod servers.
"""

import os
import stat
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.images import build_ids
from undwarf.images.container_files import Containers
from undwarf.images.local_caches import DEBUGINFO, EXECUTABLE, cached, debuginfod_cache, perf_cache
from undwarf.images.mapped_file_check import Recorded
from undwarf.images.symfs_paths import confined, usable
from undwarf.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from undwarf.images.debuginfod import Debuginfod
    from undwarf.images.jitdump import JitDump

Place = tuple[int, int, int]
"""Identity of a file: major and minor number of its device, inode."""

DELETED = " (deleted)"
"""Suffix that the kernel appends to the path of a deleted file."""


class Mapped(Protocol):
    """Access to mapped files beyond their names, for running processes and core files.

    A file is identified by the recorded path and its build-id, else its device and inode.
    """

    def file(self, path: str, build_id: bytes, place: Place | None) -> ElfFile | None:
        """The file that was mapped, even if its path has another one by now; None if unavailable."""

    def fits(self, elf: ElfFile, path: str, build_id: bytes, place: Place | None) -> bool:
        """Whether a file may be what was mapped."""

    def remains(self, path: str, build_id: bytes, place: Place | None) -> ElfFile | None:
        """The parts of a file that are in memory, if no file is found; None if those are not enough."""

    def root(self) -> str:
        """The process's root directory; empty if it is our own."""


class Finder:
    """The places that are searched for files.

    ``symfs`` is the root for recorded paths, which they cannot leave; ``debug_dirs`` have separate debug files;
    ``buildid_dir`` is perf's cache (None: as perf is configured); ``kallsyms`` and ``vmlinux`` are files given by the
    user, which take precedence. ``debuginfod`` is a client that may use the network; without one its cache is still
    used.
    """

    def __init__(
        self,
        symfs: str = "",
        debug_dirs: tuple[str, ...] = ("/usr/lib/debug",),
        buildid_dir: str | None = None,
        kallsyms: str = "",
        vmlinux: str = "",
        *,
        debuginfod: "Debuginfod | None" = None,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        self.symfs = "" if symfs in ("", "/") else os.path.abspath(symfs)
        self.debug_dirs = debug_dirs
        self.buildid_dir = perf_cache() if buildid_dir is None else os.path.expanduser(buildid_dir)
        self.kallsyms = kallsyms
        self.vmlinux = vmlinux
        self.limits = limits
        self.debuginfod = debuginfod
        self.debuginfod_cache = debuginfod.settings.cache if debuginfod is not None else debuginfod_cache()
        self.mapped: Mapped | None = None
        """Access to the mapped files themselves, if there is any."""
        self.perf_maps: dict[int, bytes] = {}
        """By process: its perf map, where that is known without its file."""
        self.recorded: Recorded | None = None
        """Detects replaced files where there is no build-id."""
        self.containers: Containers | None = None
        """Further places of binaries; set by callers that know the recording's processes."""
        self.defects = Defects() if defects is None else defects
        # Path of a file that was found in a container -> the container's root.
        self._root_of: dict[str, str] = {}

    def path_of(self, recorded: str) -> str | None:
        """The path on this machine of a recorded path; None if it is no path."""
        if not usable(recorded):
            return None
        return confined(self.symfs, recorded) if self.symfs else recorded

    def open(self, path: str) -> ElfFile:
        """Opens an ELF file with this finder's limits. Raises ElfError."""
        return ElfFile.open(path, limits=self.limits, defects=self.defects)

    # The binary ----------------------------------------------------------------------------------------

    def binary(self, recorded: str, build_id: bytes, place: Place | None = None) -> tuple[ElfFile | None, str]:
        """The ELF file that was mapped as ``recorded``, else None and the reason.

        With a build-id, only a file that has it: at the path, then from perf's cache. Without one, the file at the path
        is trusted, unless the name says that it was deleted, or :attr:`mapped` or :attr:`recorded` disagree.
        """
        mapped = self.mapped
        if mapped is None:
            return self._binary(recorded, build_id, place)
        found = mapped.file(recorded, build_id, place)
        if found is not None:
            root = mapped.root()
            if root:
                self._root_of[found.path] = root
            return found, ""
        found, problem = self._binary(recorded, build_id, place)
        if found is None:
            found = mapped.remains(recorded, build_id, place)
        return found, "" if found is not None else problem

    def _binary(self, recorded: str, build_id: bytes, place: Place | None) -> tuple[ElfFile | None, str]:
        deleted = recorded.endswith(DELETED)
        path = self.path_of(recorded.removesuffix(DELETED))
        problem = "no such path" if usable(recorded) else "not a path"
        if path is not None and (build_id or not deleted):
            try:
                elf = self.open(path)
            except ElfError as error:
                problem = error.why or str(error)
            else:
                if not build_id and self.mapped is not None and not self.mapped.fits(elf, recorded, build_id, place):
                    return None, "the file at its path is not the one that was mapped"
                if not build_id and self.recorded is not None and not self.symfs:
                    problem = self.recorded.contradiction(path, recorded, place)
                    if problem:
                        self.defects.add("file replaced after the recording", recorded, detail=problem)
                        return None, problem + ", and no build-id was recorded"
                if not build_id or build_ids.same(elf.build_id, build_id):
                    return elf, ""
                problem = "its build-id differs from the recorded one"
        elif deleted:
            problem = "the file was deleted, and there is no build-id to find it by"
        if build_id:
            found = (
                self.verified(self.cached(build_id, "elf"), build_id)
                or self._in_container(recorded.removesuffix(DELETED), build_id)
                or self.fetched(build_id, EXECUTABLE, recorded)
            )
            if found is not None:
                return found, ""
            if problem.startswith("its build-id"):
                self.defects.add("build-id mismatch", recorded)
        return None, problem

    def _in_container(self, recorded: str, build_id: bytes) -> ElfFile | None:
        """The file at a recorded path in a container where a process of the recording still runs."""
        if self.containers is None or self.symfs or not usable(recorded):
            return None
        for root in self.containers.roots():
            path = confined(root, recorded)
            found = self.verified(path, build_id) if path else None
            if found is not None:
                self._root_of[found.path] = root
                return found
        return None

    def fetched(self, build_id: bytes, kind: str, name: str) -> ElfFile | None:
        """A file from the cache of debuginfod's clients, else from the servers if the user asked for that."""
        found = self.verified(cached(self.debuginfod_cache, build_id, kind), build_id)
        if found is None and self.debuginfod is not None:
            fetch = self.debuginfod.executable if kind == EXECUTABLE else self.debuginfod.debuginfo
            found = self.verified(fetch(build_id, name), build_id)
        return found

    def vdso(self, build_id: bytes, osrelease: str) -> tuple[ElfFile | None, str]:
        """The vdso, from perf's cache, else from this process if it runs on the recording's kernel release."""
        kept = self.mapped.file("[vdso]", build_id, None) if self.mapped is not None else None
        if kept is not None:
            return kept, ""
        if build_id:
            found = self.verified(self.cached(build_id, "vdso"), build_id)
            if found is not None:
                return found, ""
        if not osrelease or osrelease != os.uname().release:
            return None, "the vdso belongs to another kernel than the one that runs here"
        from undwarf.images.vdso import own_vdso

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
            if stat.S_ISDIR(os.stat(entry).st_mode):
                return f"{entry}/{what}"
        except OSError:
            return ""
        return entry if what != "debug" else ""

    def verified(self, path: str, build_id: bytes) -> ElfFile | None:
        """The ELF file at ``path`` if it exists and has the build-id."""
        if not path or not os.path.isfile(path):
            return None
        try:
            elf = self.open(path)
        except ElfError:
            return None
        return elf if build_ids.same(elf.build_id, build_id) else None

    def jitdump(self, recorded: str, pid: int = 0) -> "tuple[JitDump | None, str]":
        """The jitdump file that was mapped as ``recorded`` by a process, else None and the reason.

        In a container it is looked up below the root of the process, while it runs.
        """
        from undwarf.images.jitdump import JitDump

        paths = [self.path_of(recorded)]
        if pid > 0 and self.containers is not None and not self.symfs and usable(recorded):
            paths.append(confined(f"/proc/{pid}/root", recorded))
        problem = "no such path"
        for path in paths:
            if path is None:
                continue
            try:
                return JitDump.open(path, limits=self.limits, defects=self.defects), ""
            except ElfError as error:
                problem = error.why or str(error)
        return None, problem

    # Its debug file ------------------------------------------------------------------------------------

    def debug_file(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        """The separate debug file of a binary: by build-id, by ``.gnu_debuglink``, by the binary's path."""
        build_id = elf.build_id
        found = self._by_build_id(build_id)
        if found is None and len(build_id) >= 2:
            found = self.verified(self.cached(build_id, "debug"), build_id)
        found = found or self._by_debug_link(elf, recorded) or self._by_path(elf, recorded)
        if found is None and elf.section(".debug_info") is None:
            found = self.fetched(build_id, DEBUGINFO, recorded)
        return found

    def alt_file(self, elf: ElfFile, recorded: str = "") -> ElfFile | None:
        """The file with the common parts that dwz moved out of a file, which names it and its build-id.

        By build-id below the debug directories, then by the name, which is absolute or relative to the real path of
        ``elf``, then by its last component in ``.dwz`` of the debug directories, then as any debug file.
        """
        link = elf.alt_link
        if link is None or len(link[1]) < 2:
            return None
        name, build_id = link
        found = self._by_build_id(build_id)
        if found is not None:
            return found
        for path in self._alternate_paths(elf, name):
            found = self.verified(path, build_id)
            if found is not None:
                return found
        found = self.verified(self.cached(build_id, "debug"), build_id)
        return found or self.fetched(build_id, DEBUGINFO, f"{os.path.basename(name)} of {recorded or elf.path}")

    def _alternate_paths(self, elf: ElfFile, name: str) -> Iterator[str]:
        if name.startswith("/"):
            yield self._inside(elf, name) or ""
        else:
            for place in (elf.path, os.path.realpath(elf.path)):
                root = self._root(elf)
                inside = bool(root) and place.startswith(root + "/")
                start = os.path.dirname(place[len(root) :] if inside else place)
                beside = os.path.normpath(os.path.join(start, name))
                yield (confined(root, beside) or "") if inside else beside
        for directory in self.all_debug_dirs():
            yield f"{directory}/.dwz/{os.path.basename(name)}"

    def dwo_files(self, name: str, comp_dir: str, elf: ElfFile, recorded: str = "") -> Iterator[ElfFile]:
        """Candidates for the ``.dwo`` of a unit of ``elf``, best first; callers must check the dwo_id.

        ``name`` and ``comp_dir`` are the unit's: the name below the compilation directory, then below the directory of
        the binary, then its last component there.
        """
        directories = dict.fromkeys(os.path.dirname(path) for path in (recorded, elf.path) if path)
        last = os.path.basename(name)
        places = [name] if name.startswith("/") else [f"{comp_dir}/{name}"]
        for directory in directories:
            places += [f"{directory}/{name}", f"{directory}/{last}"]
        yield from self._each(elf, places)

    def dwp_files(self, elf: ElfFile, recorded: str = "") -> Iterator[ElfFile]:
        """Candidates for the package of a binary's ``.dwo`` files: its name with ``.dwp``, beside it or its debug file,
        and below the debug directories. Callers must check the index."""
        paths = [path for path in dict.fromkeys((elf.path, os.path.realpath(elf.path), recorded)) if path]
        places = [f"{path}.dwp" for path in paths]
        places += [f"{path.removesuffix('.debug')}.dwp" for path in paths if path.endswith(".debug")]
        places += [f"{top}{recorded}.dwp" for top in self.all_debug_dirs() if recorded]
        yield from self._each(elf, places)
        if len(elf.build_id) >= 2:
            for top in self.all_debug_dirs():
                yield from self._each(elf, [f"{top}/.build-id/{build_ids.directory(elf.build_id)}.dwp"])

    def split_files(
        self, name: str, comp_dir: str, elf: ElfFile, recorded: str = "", debug_elf: "ElfFile | None" = None
    ) -> Iterator[ElfFile]:
        """Files that may hold a split unit of ``elf``: those of :meth:`dwo_files`, then packages of it and its debug
        file."""
        yield from self.dwo_files(name, comp_dir, elf, recorded)
        yield from self.dwp_files(elf, recorded)
        if debug_elf is not None:
            yield from self.dwp_files(debug_elf)

    def _each(self, elf: ElfFile, places: list[str]) -> Iterator[ElfFile]:
        """The ELF files among these paths, each once; paths are below the root in which ``elf`` was found."""
        seen = {elf.path}
        for place in places:
            path = self._inside(elf, os.path.normpath(place))
            if path is None or path in seen or not os.path.isfile(path):
                continue
            seen.add(path)
            try:
                yield self.open(path)
            except ElfError as error:
                self.defects.add("debug file cannot be read", path, detail=error.why)

    def _root(self, elf: ElfFile) -> str:
        return self._root_of.get(elf.path, self.symfs)

    def _inside(self, elf: ElfFile, path: str) -> str | None:
        """An absolute path of the machine or container of ``elf``, on this machine."""
        root = self._root(elf)
        if not usable(path):
            return None
        if not root:
            return path
        return confined(root, path.removeprefix(root) if path.startswith(root + "/") else path)

    def _by_build_id(self, build_id: bytes) -> ElfFile | None:
        if len(build_id) < 2:
            return None
        below = f".build-id/{build_ids.directory(build_id)}.debug"
        for directory in self.all_debug_dirs():
            found = self.verified(f"{directory}/{below}", build_id)
            if found is not None:
                return found
        return None

    def all_debug_dirs(self) -> list[str]:
        """The debug directories under ``symfs``, then those of this machine."""
        if not self.symfs:
            return list(self.debug_dirs)
        inside = (confined(self.symfs, directory) for directory in self.debug_dirs)
        return [directory for directory in inside if directory] + list(self.debug_dirs)

    def _by_debug_link(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        link = elf.debug_link
        if link is None or "/" in link[0] or link[0] in (".", ".."):
            return None
        directory = os.path.dirname(recorded)
        places = [f"{directory}/{link[0]}", f"{directory}/.debug/{link[0]}"]
        places += [f"{top}{directory}/{link[0]}" for top in self.debug_dirs]
        for place in places:
            path = self._inside(elf, place)
            if path is not None and path != elf.path:
                found = self._debug_candidate(path, elf, link[1])
                if found is not None:
                    return found
        return None

    def _by_path(self, elf: ElfFile, recorded: str) -> ElfFile | None:
        """Fedora's and Ubuntu's old paths; only if build-ids in both files show that they belong together."""
        if not elf.build_id:
            return None
        for top in self.debug_dirs:
            for place in (f"{top}{recorded}.debug", f"{top}{recorded}"):
                path = self._inside(elf, place)
                found = self.verified(path, elf.build_id) if path else None
                if found is not None:
                    return found
        return None

    def _debug_candidate(self, path: str, elf: ElfFile, crc: int) -> ElfFile | None:
        if not os.path.isfile(path):
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
