"""Names frames: each unique (image, address) once, in batches by image."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.column import absent, zeros
from undwarf.elf import ElfFile
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.limits import DEFAULT, Limits
from undwarf.ordering import group
from undwarf.symbols.demangle import demangle_all, demangle_own
from undwarf.symbols.elf_symbols import symbols_of_image
from undwarf.symbols.language_detection import has_code_of
from undwarf.symbols.plt import Stubs
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.symbols.unnamed_frames import fill_unnamed, unnamed_within

if TYPE_CHECKING:
    from undwarf.symbols.kernel_modules import Place, PlacedTable
    from undwarf.symbols.kernel_symbols import KernelSymbol, KernelTable
    from undwarf.tables.function_starts import Ranges

UNKNOWN = "[unknown]"
"""perf's name for code without a symbol."""
NONE = 0xFFFFFFFF
PADDING = "__pfx_"
"""Prefix of the kernel's symbols for the padding before functions, used by call depth tracking and CFI."""
_VERSION = re.compile(r"(?<=[^@])(?:@plt|@@?[A-Za-z_][\w.+-]*)\Z", re.ASCII)
"""Suffixes of linkers: a stub, and a symbol version in `.symtab` (binutils' elflink.c)."""
MAX_STUBS = 20_000
"""Maximum frames in stubs that are decoded for an image; real programs have a few hundred."""


class ResolverOptions(NamedTuple):
    """Options of naming. ``demangle``: whether symbols are demangled; ``versions``: whether symbol versions are kept
    (`malloc@@GLIBC_2.2.5`); ``starts``: whether functions without a symbol are named by their start address, as in
    ``gzip+0x4330``."""

    demangle: bool = True
    versions: bool = False
    starts: bool = True
    limits: Limits = DEFAULT


@dataclass(slots=True, repr=False, eq=False)
class Functions:
    """The result of :meth:`Resolver.resolve`.

    ``number`` (I, one a frame) is the frame's function. By function number: ``name`` (demangled, ``[unknown]`` for
    an image's code without a symbol), ``symbol`` (as in the file), ``image`` (I, as passed in, 0xffffffff for none)
    and ``address`` (Q, where it starts, in the same addresses as the frames'; 0 for unknown). ``unnamed`` (B) is 1 for
    functions without a symbol. ``aliases``: the candidates of functions with several equally good symbols.
    """

    number: "memoryview[int]"
    name: list[str]
    symbol: list[str]
    image: "memoryview[int]"
    address: "memoryview[int]"
    unnamed: "memoryview[int]"
    aliases: dict[int, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.name)


class Resolver:
    """Names addresses of the images of one recording.

    ``records`` give the kernel's address and the code it announced (BPF). Symbol tables are read once and cached;
    :attr:`problems` has, by image number, the reason why an image's code could not be named.
    """

    def __init__(
        self,
        image_store: ImageStore,
        options: ResolverOptions | None = None,
        *,
        records: Any = None,
    ) -> None:
        self.options = ResolverOptions() if options is None else options
        self.problems: dict[int, str] = {}
        self._store = image_store
        self._records = records
        self._tables: dict[int, SymbolTable | None] = {}
        self._stubs: dict[int, Stubs] = {}
        self._maps: dict[int, tuple[tuple[int, int, int] | None, SymbolTable | None]] = {}
        self._described: dict[int, Ranges] = {}
        self._searched: dict[int, Ranges] = {}
        self._kernel: tuple[KernelTable | None, str] | None = None
        self._announced: dict[bytes, list[KernelSymbol]] | None = None
        self._places: dict[int, list[Place]] | None = None

    def resolve(
        self,
        images: "memoryview[int]",
        addresses: "memoryview[int]",
        pids: "memoryview[int] | None" = None,
    ) -> Functions:
        """Names frames given as columns: ``images`` I (numbers of the image store, 0xffffffff for none) and
        ``addresses`` Q (ELF virtual addresses, or runtime addresses where ``Image.runs_at_file_addresses`` is not
        so). ``pids`` i are needed for just-in-time compiled code only.
        """
        return _Batch(self, self._store, images, addresses, pids).run()

    @property
    def places_modules(self) -> bool:
        """Whether the addresses of modules are known."""
        return self._records is not None

    # Tables, each read at first use --------------------------------------------------------------------

    def table(self, image: Image) -> SymbolTable | None:
        """The symbols of an image that has a file."""
        try:
            return self._tables[image.number]
        except KeyError:
            table = symbols_of_image(image, self.options.limits)
            if table is None:
                self.problems[image.number] = image.problem or "no symbols"
            self._tables[image.number] = table
            return table

    def stubs(self, image: Image) -> Stubs | None:
        """The procedure linkage table stubs of an image that has a file."""
        found = self._stubs.get(image.number)
        if found is None and image.elf is not None:
            found = self._stubs[image.number] = Stubs(image.elf, self._tables.get(image.number))
        return found

    def described(self, image: Image, elf: ElfFile) -> "Ranges":
        """(starts, ends) of the functions that an image's unwind information describes."""
        found = self._described.get(image.number)
        if found is None:
            from undwarf.tables.function_starts import described_functions

            found = self._described[image.number] = described_functions(elf, self.options.limits)
        return found

    def searched(self, image: Image, elf: ElfFile) -> "Ranges":
        """(starts, ends) of the functions that an image's code refers to."""
        found = self._searched.get(image.number)
        if found is None:
            from undwarf.tables.function_starts import searched_functions

            known, _ends = self.described(image, elf)
            found = self._searched[image.number] = searched_functions(elf, known, self.options.limits)
        return found

    def kernel(self) -> "KernelTable | None":
        """The kernel's symbols; without any, the kernel image's :attr:`problems` entry has the reason."""
        if self._kernel is None:
            from undwarf.symbols.kernel_symbols import kernel_key, kernel_reference, kernel_table

            key = kernel_key(self._records) if self._records is not None else None
            image = self._store.image(key) if key is not None else self._store.kernel()
            reference = kernel_reference(self._records) if self._records is not None else None
            self._kernel = kernel_table(self._store, image, reference, self.options.limits)
            if self._kernel[0] is None:
                self.problems[image.number] = image.problem = self._kernel[1]
        return self._kernel[0]

    def announced(self, name: bytes) -> SymbolTable | None:
        """The code of this name that the kernel announced while recording."""
        from undwarf.symbols.kernel_symbols import kernel_symbols, table_of_announced

        if self._announced is None:
            self._announced = {}
            for symbol in kernel_symbols(self._records) if self._records is not None else []:
                self._announced.setdefault(symbol.name, []).append(symbol)
        return table_of_announced(self._announced.get(name, []))

    def module(self, image: Image) -> "list[PlacedTable]":
        """The symbols of a kernel module, for each of its addresses in the recording."""
        from undwarf.symbols.kernel_modules import module_places, placed_tables

        if self._places is None:
            self._places = module_places(self._records, self._store) if self._records is not None else {}
        places = self._places.get(image.number, [])
        return placed_tables(image, places, self.kernel(), self.options.limits) if places else []

    def perf_map(self, pid: int) -> SymbolTable | None:
        """The just-in-time compiled functions of a process."""
        if pid not in self._maps:
            from undwarf.symbols.perfmap import map_path, read_map, state_of_map

            finder = self._store.finder
            # The state first: if the map is written to meanwhile, it is read again.
            state = state_of_map(finder, pid)
            table: SymbolTable | None = None
            with finder.defects.contained(map_path(pid)):
                table = read_map(finder, pid, self.options.limits, finder.defects)
            self._maps[pid] = state, table
        return self._maps[pid][1]

    def forget_changed_maps(self) -> None:
        """Read maps again that running processes have written to."""
        from undwarf.symbols.perfmap import state_of_map

        for pid, (state, _table) in list(self._maps.items()):
            if state_of_map(self._store.finder, pid) != state:
                del self._maps[pid]


class _Batch:
    """One call of :meth:`Resolver.resolve`."""

    def __init__(
        self,
        resolver: Resolver,
        store: ImageStore,
        images: "memoryview[int]",
        addresses: "memoryview[int]",
        pids: "memoryview[int] | None",
    ) -> None:
        if len(images) != len(addresses) or (pids is not None and len(pids) != len(images)):
            raise ValueError("columns of different lengths")
        self.resolver = resolver
        self.store = store
        self.addresses = addresses
        self.pids = pids
        self.images = images
        # Naming a module may add the kernel to the store.
        self.count = len(store)
        self.order, self.starts = group(images, self.count)
        self.functions = absent("I", len(images))
        self.symbols: list[str | list[str]] = []
        # By function number; where aliases tie, all of them.
        self.function_images: list[int] = []
        self.function_starts: list[int] = []
        self.unnamed: list[int] = []

    def run(self) -> Functions:
        kernel_memory: dict[int, memoryview[int]] = {}
        for number in range(self.count):
            begin, end = self.starts[number], self.starts[number + 1]
            if begin == end:
                continue
            known = len(self.symbols)
            with self.store.finder.defects.contained(self.store[number].path) as contained:
                self._name_image(number, begin, end, kernel_memory)
            if contained.failed:
                self._take_back(begin, end, known)
                kernel_memory.clear()
            self._name_rest(number, begin, end)
        self._name_rest(NONE, self.starts[self.count], len(self.order))
        return self._functions()

    def _name_image(self, number: int, begin: int, end: int, kernel_memory: "dict[int, memoryview[int]]") -> None:
        image = self.store[number]
        if image.kind is ImageKind.BPF:
            self._name_announced(image, begin, end)
        elif image.kind is ImageKind.MODULE and self.resolver.places_modules:
            self._name_module(image, begin, end)
        elif image.kind in (ImageKind.KERNEL, ImageKind.MODULE):
            self._name_kernel(number, begin, end, kernel_memory)
        elif image.kind in (ImageKind.ANON, ImageKind.JIT):
            self._name_compiled(image, begin, end)
        elif image.runs_at_file_addresses:
            self._name_file(image, begin, end)
            if self.resolver.options.starts:
                self._name_starts(image, begin, end)
            # Whole symbol tables of large files were read; their pages would add up.
            for elf in (image.elf, image.debug_elf):
                if elf is not None:
                    elf.release()

    def _take_back(self, begin: int, end: int, known: int) -> None:
        """Undo the names of a group of frames: symbols from number ``known`` on."""
        for frame in self.order[begin:end].tolist():
            self.functions[frame] = NONE
        for column in (self.symbols, self.function_images, self.function_starts):
            del column[known:]
        self.unnamed = [number for number in self.unnamed if number < known]

    def _functions(self) -> Functions:
        images = zeros("I", len(self.symbols))
        starts = zeros("Q", len(self.symbols))
        for i, image in enumerate(self.function_images):
            images[i] = image
        for i, start in enumerate(self.function_starts):
            starts[i] = start
        symbols, names = self._names()
        unnamed = zeros("B", len(self.symbols))
        for number in self.unnamed:
            unnamed[number] = 1
        aliases = {number: symbol for number, symbol in enumerate(self.symbols) if not isinstance(symbol, str)}
        return Functions(self.functions, names, symbols, images, starts, unnamed, aliases)

    def _names(self) -> tuple[list[str], list[str]]:
        """(symbols, names). Aliases are chosen by their demangled names; all are demangled in one batch."""
        flat: list[str] = []
        firsts: list[int] = []
        images: list[int] = []
        for symbol, image in zip(self.symbols, self.function_images, strict=True):
            firsts.append(len(flat))
            if isinstance(symbol, str):
                flat.append(symbol)
            else:
                flat += symbol
            images += [image] * (len(flat) - len(images))
        options = self.resolver.options
        shown = self._demangled(flat, images) if options.demangle else flat
        symbols: list[str] = []
        names: list[str] = []
        for symbol, first in zip(self.symbols, firsts, strict=True):
            best = first
            if not isinstance(symbol, str):
                for i in range(first + 1, first + len(symbol)):
                    if _rank(shown[i]) > _rank(shown[best]):
                        best = i
            symbols.append(flat[best])
            of_file = images[best] != NONE and self.store[images[best]].kind is ImageKind.FILE
            strips = options.demangle and not options.versions and of_file
            names.append(_without_version(shown[best]) if strips else shown[best])
        return symbols, names

    def _demangled(self, symbols: list[str], images: list[int]) -> list[str]:
        """Demangled names, without the suffix of a stub or version; names that images share are demangled once."""
        plain = [symbol[: len(symbol) - len(_behind(symbol))] for symbol in symbols]
        by_image: dict[int, list[int]] = {}
        for i, image in enumerate(images):
            by_image.setdefault(image, []).append(i)
        own = list(plain)
        for image, numbers in by_image.items():
            if image != NONE:
                has = partial(has_code_of, self.store[image])
                names = demangle_own([plain[i] for i in numbers], has, self.resolver.options.limits)
                for i, name in zip(numbers, names, strict=True):
                    own[i] = name
        each = dict.fromkeys(own)
        shown = dict(zip(each, demangle_all(list(each), self.resolver.options.limits), strict=True))
        return [
            shown[one] if len(before) == len(symbol) else shown[one] + symbol[len(before) :]
            for one, before, symbol in zip(own, plain, symbols, strict=True)
        ]

    def _assign(
        self,
        table: SymbolTable,
        number: int,
        order: "memoryview[int]",
        begin: int,
        end: int,
        delta: int = 0,
        memory: "memoryview[int] | None" = None,
    ) -> None:
        """Names those of a group of frames that one table covers."""
        if memory is None:
            memory = zeros("I", len(table))
        new = zeros("I", min(end - begin, len(table)))
        count = table.assign(self.addresses, order, begin, end, delta, memory, self.functions, len(self.symbols), new)
        names, starts = table.describe(new, count)
        self.symbols += [
            name.decode("utf-8", "replace")
            if isinstance(name, bytes)
            else [alias.decode("utf-8", "replace") for alias in name]
            for name in names
        ]
        self.function_images += [number] * count
        self.function_starts += [(start + delta) & 0xFFFFFFFFFFFFFFFF for start in starts.tolist()]

    def _name_file(self, image: Image, begin: int, end: int) -> None:
        table = self.resolver.table(image)
        if table is not None:
            self._assign(table, image.number, self.order, begin, end)
        stubs = self.resolver.stubs(image)
        ranges = stubs.ranges() if stubs is not None else []
        if stubs is None or not ranges:
            return
        lows, highs = zeros("Q", len(ranges)), zeros("Q", len(ranges))
        for i, (low, high) in enumerate(ranges):
            lows[i], highs[i] = low, min(high, 0xFFFFFFFFFFFFFFFF)
        frames = unnamed_within(self.functions, self.addresses, self.order, begin, end, lows, highs)
        known: dict[int, int] = {}
        for frame in frames[:MAX_STUBS]:
            stub = stubs.find(self.addresses[frame])
            if stub is None:
                continue
            function = known.get(stub[0])
            if function is None:
                function = known[stub[0]] = self._add(stub[1], image.number, stub[0])
            self.functions[frame] = function

    def _name_starts(self, image: Image, begin: int, end: int) -> None:
        """Names functions without a symbol by their start address. Otherwise all of a stripped program would be one
        ``[unknown]`` that calls itself in every stack."""
        elf = image.elf
        if elf is None:
            return
        file = image.name.rpartition(b"/")[2].decode("utf-8", "replace")
        # All addresses.
        lows, highs = zeros("Q", 1), zeros("Q", 1)
        highs[0] = 0xFFFFFFFFFFFFFFFF
        for functions_of in (self.resolver.described, self.resolver.searched):
            # Few frames of a large file have no symbol.
            frames = unnamed_within(self.functions, self.addresses, self.order, begin, end, lows, highs)
            if not frames:
                return
            starts, ends = functions_of(image, elf)
            known: dict[int, int] = {}
            for frame in frames:
                number = bisect_right(starts, self.addresses[frame]) - 1
                if number < 0 or self.addresses[frame] >= ends[number]:
                    continue
                function = known.get(number)
                if function is None:
                    function = known[number] = self._add(f"{file}+{starts[number]:#x}", image.number, starts[number])
                    self.unnamed.append(function)
                self.functions[frame] = function

    def _name_kernel(self, number: int, begin: int, end: int, memory: "dict[int, memoryview[int]]") -> None:
        table = self.resolver.kernel()
        if table is not None:
            # Modules share the kernel's table: a function is hit in one of them only.
            known = memory.get(id(table.symbols))
            if known is None:
                known = memory[id(table.symbols)] = zeros("I", len(table.symbols))
            self._assign(table.symbols, number, self.order, begin, end, table.delta, known)
            self._name_interrupted(table, number, begin, end, known)

    def _name_interrupted(
        self, table: "KernelTable", number: int, begin: int, end: int, known: "memoryview[int]"
    ) -> None:
        """Moves frames in the padding before a function (``__pfx_``) to the function. The padding calls nothing: the
        function was interrupted at its first instruction, and looked up one byte before it."""
        padding = {k for k, symbol in enumerate(self.symbols) if isinstance(symbol, str) and symbol.startswith(PADDING)}
        if not padding:
            return
        for frame in self.order[begin:end].tolist():
            if self.functions[frame] not in padding:
                continue
            start = self.addresses[frame] + 1 - table.delta
            symbol = table.symbols.find(start)
            if symbol is None or table.symbols.extent(symbol)[0] != start:
                continue
            if not known[symbol]:
                name = table.symbols.names_at(symbol)[0].decode("utf-8", "replace")
                known[symbol] = self._add(name, number, self.addresses[frame] + 1) + 1
            self.functions[frame] = known[symbol] - 1

    def _name_announced(self, image: Image, begin: int, end: int) -> None:
        """Code that the kernel generated is an image per name; other code at the same address does not matter."""
        table = self.resolver.announced(image.name)
        if table is not None:
            self._assign(table, image.number, self.order, begin, end)
        name = image.name.decode("utf-8", "replace")
        if fill_unnamed(self.functions, self.order, begin, end, len(self.symbols)):
            self._add(name, image.number, 0)

    def _name_module(self, image: Image, begin: int, end: int) -> None:
        for table in self.resolver.module(image):
            low, high = table.place
            frames = [frame for frame in self.order[begin:end].tolist() if low <= self.addresses[frame] < high]
            order = zeros("I", len(frames))
            for i, frame in enumerate(frames):
                order[i] = frame
            self._assign(table.symbols, image.number, order, 0, len(frames), table.delta)

    def _name_compiled(self, image: Image, begin: int, end: int) -> None:
        """Just-in-time compiled code has a map per process."""
        if self.pids is None:
            return
        frames = self.order[begin:end].tolist()
        by_pid: dict[int, list[int]] = {}
        for frame in frames:
            by_pid.setdefault(self.pids[frame], []).append(frame)
        for pid, part in by_pid.items():
            table = self.resolver.perf_map(pid)
            if table is None:
                continue
            order = zeros("I", len(part))
            for i, frame in enumerate(part):
                order[i] = frame
            self._assign(table, image.number, order, 0, len(part))

    def _name_rest(self, number: int, begin: int, end: int) -> None:
        """All other code is one function ``[unknown]`` per image."""
        if fill_unnamed(self.functions, self.order, begin, end, len(self.symbols)):
            self.unnamed.append(self._add(UNKNOWN, number, 0))

    def _add(self, name: str, image: int, start: int) -> int:
        self.symbols.append(name)
        self.function_images.append(image)
        self.function_starts.append(start)
        return len(self.symbols) - 1


def _behind(symbol: str) -> str:
    """The suffix of a symbol: ``@plt`` of a stub, ``@VERSION`` or ``@@VERSION``; empty without."""
    found = _VERSION.search(symbol) if "@" in symbol else None
    return found.group() if found else ""


def _without_version(name: str) -> str:
    behind = _behind(name)
    return name[: len(name) - len(behind)] if behind and behind != "@plt" else name


def _rank(name: str) -> tuple[int, int]:
    """The preference of an alias (larger is better), as the last steps of perf's choose_best_symbol."""
    return len(name.lstrip("_")) - len(name), len(name)
