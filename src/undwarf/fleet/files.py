"""Files that frames of a store are in: found on this machine, downloaded, or given by the user, by their build-id."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from undwarf.elf.headers import PF_X
from undwarf.errors import ElfError
from undwarf.fleet.ingest import Reading
from undwarf.images import Finder, build_ids
from undwarf.limits import DEFAULT

if TYPE_CHECKING:
    from undwarf.elf import ElfFile


@contextmanager
def finder(reading: Reading, files: Sequence[str] = ()) -> Iterator[Finder]:
    """Finds files where ``reading`` says, after those of ``files``, which may be binaries or debug files. Raises
    UndwarfError for given files that cannot be read."""
    debuginfod = None
    if reading.debuginfod:
        from undwarf.images.debuginfod import Debuginfod, Settings

        debuginfod = Debuginfod(Settings.from_environment(limits=DEFAULT), limits=DEFAULT)
    try:
        with tempfile.TemporaryDirectory(prefix="undwarf-") as folder:
            given = [opened(path) for path in files]
            for elf in given:
                _link(elf, folder)
            found = Finder(
                symfs=reading.symfs or "",
                debug_dirs=(*([folder] if given else []), *reading.debug_dirs, "/usr/lib/debug"),
                kallsyms=reading.kallsyms or "",
                vmlinux=reading.vmlinux or "",
                debuginfod=debuginfod,
            )
            if given:
                found.mapped = _GivenFiles(given)
            yield found
    finally:
        if debuginfod is not None:
            debuginfod.close()


def opened(path: str) -> "ElfFile":
    """A file that the user gives. Raises ElfError if it cannot be read or has no build-id."""
    from undwarf.elf import ElfFile

    elf = ElfFile.open(path)
    if not elf.build_id:
        raise ElfError(f"cannot use {path}", "it has no build-id", "link it with --build-id")
    return elf


def _link(elf: "ElfFile", folder: str) -> None:
    """Make a file the debug file of its build-id in a directory of debug files; one with DWARF rather than others."""
    place = os.path.join(folder, ".build-id", f"{build_ids.directory(elf.build_id)}.debug")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.lexists(place):
        if elf.section(".debug_info") is None:
            return
        os.unlink(place)
    os.symlink(os.path.abspath(elf.path), place)


class _GivenFiles:
    """Files with code that the user gives, found by build-id whatever path is recorded."""

    def __init__(self, files: "Sequence[ElfFile]") -> None:
        self._by_build_id = {
            elf.build_id: elf for elf in files if any(one.flags & PF_X and one.file_size for one in elf.loads)
        }

    def file(self, path: str, build_id: bytes, place: object) -> "ElfFile | None":
        """The file with a build-id."""
        return self._by_build_id.get(build_id)

    def fits(self, elf: "ElfFile", path: str, build_id: bytes, place: object) -> bool:
        """Files without a build-id are never looked for."""
        return False

    def remains(self, path: str, build_id: bytes, place: object) -> None:
        """Nothing but files."""
        return

    def root(self) -> str:
        """Of this machine."""
        return ""
