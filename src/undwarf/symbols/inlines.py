"""Finds the inlined functions and source lines of frames, image by image, from debugging information."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.elf import ElfFile
from undwarf.elf.go_functions import GoFunctions
from undwarf.images import Image, ImageStore
from undwarf.limits import DEFAULT, Limits
from undwarf.ordering import group, take
from undwarf.symbols.demangle import demangle_all, demangle_own
from undwarf.symbols.inline_chains import Chains
from undwarf.symbols.language_detection import has_code_of

if TYPE_CHECKING:
    from undwarf.symbols.go_lines import GoLines
    from undwarf.symbols.jit_lines import JitLines

    Lines = DebugLines | JitLines | GoLines
    """A source of chains."""


class ImageLines:
    """Opens the debugging information of images, each once: the binary's own, else its separate debug file's, else the
    table of a Go program; for JIT code its jitdump."""

    def __init__(self, store: ImageStore, limits: Limits = DEFAULT, defects: Defects | None = None) -> None:
        self._finder = store.finder
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._known: dict[int, Lines | None] = {}

    def __call__(self, image: Image) -> "Lines | None":
        """The debugging information of an image, or None."""
        try:
            return self._known[image.number]
        except KeyError:
            found: Lines | None = None
            with self._defects.contained(image.path):
                found = self._open(image)
            self._known[image.number] = found
            return found

    def _open(self, image: Image) -> "Lines | None":
        if image.jitdump is not None:
            from undwarf.symbols.jit_lines import JitLines

            return JitLines(image.jitdump)
        elf = image.elf
        if elf is None:
            return None
        debug_elf = None if elf.section(".debug_info") is not None else image.debug_elf

        def alt(file: ElfFile) -> ElfFile | None:
            return self._finder.alt_file(file, image.path)

        def split(name: str, directory: str, _identity: int) -> Iterator[ElfFile]:
            return self._finder.split_files(name, directory, elf, image.path, debug_elf)

        found = DebugLines.open(
            elf, debug_elf, find_alt=alt, find_split=split, limits=self._limits, defects=self._defects
        )
        if found is None:
            functions = GoFunctions.of(elf)
            if functions is None:
                return None
            from undwarf.symbols.go_lines import GoLines

            return GoLines(functions)
        return found


class Inlines(NamedTuple):
    """Chains of frames: ``columns`` as of :meth:`undwarf.symbols.inline_chains.Chains.columns`.

    Entries have indices in ``names`` (demangled) and ``files``.
    """

    columns: dict[str, memoryview]
    names: list[str]
    files: list[str]


class _Numbers:
    """Interned texts."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def column(self, texts: list[str]) -> memoryview:
        """The number of each text."""
        column = zeros("I", len(texts))
        of = self.of
        for i, text in enumerate(texts):
            column[i] = of.setdefault(text, len(of))
        return column


def find_inlines(
    store: ImageStore,
    images: memoryview,
    addresses: memoryview,
    lines_of: "Callable[[Image], Lines | None]",
    *,
    lines: bool = True,
    demangle: bool = True,
    limits: Limits = DEFAULT,
) -> Inlines:
    """The chains of all frames, given as columns ``images`` (I) and ``addresses`` (Q) as for the resolver.

    ``lines_of`` opens an image's debugging information, or gives None. Frames of the kernel and of code without a file
    have no chain. Without ``lines`` only functions are looked up.
    """
    order, starts = group(images, len(store))
    chains = Chains(len(images))
    names, files = _Numbers(), _Numbers()
    for number in range(len(store)):
        begin, end = starts[number], starts[number + 1]
        image = store[number]
        if begin == end or not image.runs_at_file_addresses:
            continue
        source = lines_of(image)
        if source is None:
            continue
        with store.finder.defects.contained(image.path):
            found = source.inline_chains(take(addresses, order[begin:end]), lines=lines)
            here = demangle_own(found.names, partial(has_code_of, image), limits) if demangle else found.names
            chains.add(order, begin, end, found, names.column(here), files.column(found.files))
        # What was read of large files would add up.
        source.release()
    mangled = list(names.of)
    return Inlines(chains.columns(), demangle_all(mangled, limits) if demangle else mangled, list(files.of))
