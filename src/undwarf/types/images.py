"""Resolvers by image: the types of each file of a recording, opened when the first address of it is asked for."""

from collections.abc import Iterator

from undwarf.diagnostics import Defects
from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.limits import DEFAULT, Limits
from undwarf.types.opening import open_resolver
from undwarf.types.resolve import Resolver

__all__ = ["ImageTypes"]


class ImageTypes:
    """The resolver of an image, or the reason why there is none."""

    def __init__(self, store: ImageStore, limits: Limits = DEFAULT, defects: Defects | None = None) -> None:
        self._store = store
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._known: dict[int, Resolver | str] = {}

    def __call__(self, number: int) -> Resolver | str:
        """What answers for an image; else why nothing can be said of it."""
        found = self._known.get(number)
        if found is None:
            try:
                found = self._open(self._store[number])
            except UndwarfError as error:
                found = f"file not readable: {error.what}"
            self._known[number] = found
        return found

    def _open(self, image: Image) -> Resolver | str:
        if image.jitdump is not None:
            return "code made at run time"
        if image.kind in (ImageKind.KERNEL, ImageKind.MODULE):
            return "kernel code is not here"
        elf = image.elf
        if elf is None:
            return "file not found"
        finder = self._store.finder
        debug = None if elf.section(".debug_info") is not None else image.debug_elf

        def alt(file: ElfFile) -> ElfFile | None:
            return finder.alt_file(file, image.path)

        def split(name: str, directory: str, _identity: int) -> Iterator[ElfFile]:
            return finder.split_files(name, directory, elf, image.path, debug)

        found = open_resolver(elf, debug, find_alt=alt, find_split=split, limits=self._limits, defects=self._defects)
        if found is None:
            return "no DWARF and no BTF"
        return found if found.machine is not None else "machine not supported"
