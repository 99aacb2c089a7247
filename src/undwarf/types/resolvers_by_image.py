"""Resolvers by image: type information of each file of a recording, opened at the first query."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from undwarf.defects import Contained, Defects
from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from undwarf.disk_cache import DiskCache
    from undwarf.symbols.modules import Place
    from undwarf.types.answer_cache import KeptAnswers
    from undwarf.types.kernel_image import KernelBinary
    from undwarf.types.no_debuginfo import UndescribedCode
    from undwarf.types.resolver import Resolver
    from undwarf.types.sources.btf import BtfFile

__all__ = ["ImageTypes"]

_AHEAD = ((".debug_info", ".debug_abbrev"), (".debug_loclists", ".debug_loc"))
"""Sections that nearly all queries need, in the order they are read: the first group of all files before the second of
any.
"""


class ImageTypes:
    """For each image its resolver, its code without types, or the reason why neither is available.

    ``records`` returns the recording's records, which have the load addresses of the kernel and its modules; ``kept``
    is the cache directory.
    """

    def __init__(
        self,
        store: ImageStore,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
        records: Callable[[], Any] | None = None,
        kept: "DiskCache | None" = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._records = records or (lambda: None)
        self._kept = kept
        self._known: dict[int, Resolver | UndescribedCode | str] = {}
        self._deltas: dict[int, int] = {}
        self._modules: set[int] = set()
        self._kernel: KernelBinary | str | None = None
        self._places: dict[int, list[Place]] | None = None

    def __call__(self, number: int, address: int) -> "tuple[Resolver | UndescribedCode, int] | str":
        """(resolver, ELF virtual address) of an address in an image as frames have it, or the reason why
        there is none.
        """
        found = self._known.get(number)
        if found is None:
            image = self._store[number]
            if image.kind is ImageKind.MODULE:
                self._modules.add(number)
            found = "file not readable"
            try:
                with self._defects.contained(image.path):
                    found = self._open(image)
            except UndwarfError as error:
                found = f"file not readable: {error.what}"
            self._known[number] = found
        if isinstance(found, str):
            return found
        if number in self._modules:
            for place in self._module_places(number):
                if place.start <= address < place.end:
                    return found, address - place.start
            return "where the module lay is not known"
        return found, (address - self._deltas.get(number, 0)) & 0xFFFFFFFFFFFFFFFF

    def contained(self, number: int) -> Contained:
        """A context in which unexpected errors in an image's files cost that image only."""
        return self._defects.contained(self._store[number].path)

    def read_ahead(self, numbers: Iterable[int]) -> Callable[[], None]:
        """Start unpacking the debugging information of images in the background; the returned function waits for it."""
        from undwarf.images.prefetch import unpack_ahead

        return unpack_ahead(self._store, numbers, _AHEAD)

    def answers(self, number: int, asked: str) -> "KeptAnswers | None":
        """Cached answers for an image's instructions; None if they are not cached. ``asked`` identifies the kind of
        query.
        """
        image = self._store[number]
        if self._kept is None or image.kind is not ImageKind.FILE:
            return None
        from undwarf.types.answer_cache import kept_answers

        with suppress(UndwarfError), self._defects.contained(image.path):
            elf = image.elf
            if elf is None:
                return None
            debug = image.debug_elf if elf.section(".debug_info") is None else None
            return kept_answers(self._kept, elf, debug, asked, self._limits, self._defects)
        return None

    def _open(self, image: Image) -> "Resolver | UndescribedCode | str":
        if image.jitdump is not None:
            return "code made at run time"
        if image.kind is ImageKind.BPF:
            return "code the kernel made"
        symbols = None
        btf: BtfFile | str = ""
        base: BtfFile | None = None
        kernel = image.kind in (ImageKind.KERNEL, ImageKind.MODULE)
        elf = image.elf
        if image.kind is ImageKind.KERNEL:
            binary = self._kernel_binary()
            if isinstance(binary, str):
                return binary
            elf, symbols, btf = binary.elf, binary.symbols, binary.foreign_btf or ""
            self._deltas[image.number] = binary.delta
        if elf is None:
            return "no file of the kernel module" if kernel else "file not found"
        finder = self._store.finder
        debug = None
        if elf.section(".debug_info") is None:
            debug = finder.debug_file(elf, image.path) if kernel else image.debug_elf
        if image.kind is ImageKind.MODULE and elf.section(".debug_info") is None and debug is None:
            binary = self._kernel_binary()
            base = binary.btf(self._limits) if not isinstance(binary, str) else None
            if base is None:
                return _undescribed(elf, "no DWARF, and no BTF of the kernel")
        whole = elf

        def alt(file: ElfFile) -> ElfFile | None:
            return finder.alt_file(file, image.path)

        def split(name: str, directory: str, _identity: int) -> Iterator[ElfFile]:
            return finder.split_files(name, directory, whole, image.path, debug)

        # Lazy: not needed if all answers are cached.
        from undwarf.types.open_resolver import open_resolver

        found = open_resolver(
            elf,
            debug,
            btf=btf,
            btf_base=base,
            kernel=kernel,
            symbols=symbols,
            find_alt=alt,
            find_split=split,
            limits=self._limits,
            defects=self._defects,
        )
        if found is None:
            return _undescribed(elf, "no DWARF and no BTF")
        return found if found.machine is not None else "machine not supported"

    # The kernel --------------------------------------------------------------------------------------------------

    def _kernel_binary(self) -> "KernelBinary | str":
        if self._kernel is None:
            from undwarf.types.kernel_image import kernel_binary

            self._kernel = kernel_binary(self._store, self._records(), self._limits)
        return self._kernel

    def _module_places(self, number: int) -> "list[Place]":
        if self._places is None:
            from undwarf.symbols.modules import module_places

            records = self._records()
            self._places = module_places(records, self._store) if records is not None else {}
        return self._places.get(number, [])


def _undescribed(elf: ElfFile, reason: str) -> "UndescribedCode":
    from undwarf.types.no_debuginfo import UndescribedCode
    from undwarf.types.sources.relocatable_objects import as_linked

    return UndescribedCode(as_linked(elf), reason)
