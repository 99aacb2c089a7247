"""Images with their unwind tables, shared by all walking threads."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_NONE, ET_DYN, PT_DYNAMIC
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.images.image_kind import UPROBES
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.cfi.eh_frame_hdr import find_header
from undwarf.tables.disk.cache import NO_DEBUG, NOT_ASKED, Key, Store, fingerprint, key_of
from undwarf.tables.model import RuleSet, UnwindTable
from undwarf.tables.sources import FRAME_POINTERS, UNWIND_ORDER, parse_order
from undwarf.unwind.arch import X86_64, Machine
from undwarf.unwind.image_table import WITHOUT_FILE, ImageTable, LoadedImage
from undwarf.unwind.walk_constants import ImageState

if TYPE_CHECKING:
    from undwarf.tables.sframe.jit_ranges import TextRanges
    from undwarf.unwind.call_sites import CallProof, CallSites
    from undwarf.unwind.exact_paths import CodeEvidence


class _Kept(NamedTuple):
    """A table that the cache may keep; the mark of the debug file that its gaps depend on, now and in the cache (None:
    it is not there)."""

    elf: ElfFile
    table: UnwindTable
    debug_mark: Callable[[], bytes]
    stored_mark: bytes | None


class UnwindTables(ImageTable):
    """Images and unwind tables by image number, each loaded once.

    ``keys`` are the recording's (name index, identity index) by image number. ``order`` names the kinds of unwind
    information that are used, in order (:mod:`undwarf.tables.sources`); with ``fp`` among them the walk follows frame
    pointers where there is no rule. ``disk`` is the cache of rows of earlier runs. ``given`` has the tables that
    processes registered at run time, by the name of their image. Unless ``patient``, the code of programs without
    unwind information is not analysed, which may take seconds. ``copies`` gives the table of an image of anonymous
    code, by its number, if the process has copied that code from a file. ``proof`` makes what tells which calls may
    enter a function; precise samples are corrected by it if ``corrects_precise``. Called with the GIL held. Raises
    UsageError for an unknown kind.
    """

    rules: RuleSet

    def __init__(
        self,
        store: ImageStore,
        keys: Sequence[tuple[int, int]],
        order: "str | Iterable[str] | None" = None,
        disk: Store | None = None,
        limits: Limits = DEFAULT,
        given: "Mapping[bytes, TextRanges] | None" = None,
        machine: Machine = X86_64,
        patient: bool = True,
        copies: "Callable[[int, RuleSet], UnwindTable | None] | None" = None,
        proof: "Callable[[], CallProof] | None" = None,
        *,
        corrects_precise: bool = True,
    ) -> None:
        super().__init__(store, keys, machine)
        kinds = parse_order(order, UNWIND_ORDER)
        self.frame_pointers = FRAME_POINTERS in kinds
        self._order = tuple(kind for kind in kinds if kind != FRAME_POINTERS)
        self.rules = RuleSet(limits)
        self._disk = disk
        self._given = given or {}
        self._patient = patient
        self._copies = copies if "code" in self._order else None
        self._proof = proof
        self.has_call_sites = proof is not None
        self.has_code_evidence = proof is not None and corrects_precise
        self._limits = limits
        self._kept: dict[Key, _Kept] = {}
        self._tables: dict[int, UnwindTable] = {}
        self.least_new = 1
        """Functions beyond the rows in the cache for which these are written again."""

    @cached_property
    def code_evidence(self) -> "CodeEvidence":
        """The code's evidence for precise samples, if there is any (``has_code_evidence``)."""
        from undwarf.unwind.exact_paths import CodeEvidence  # not at the top: few recordings have such samples

        assert self._proof is not None
        return CodeEvidence(self.image, self._proof())

    @cached_property
    def call_sites(self) -> "CallSites":
        """The calls of functions, if there are any (``has_call_sites``)."""
        from undwarf.unwind.call_sites import CallSites  # not at the top: few recordings need them

        assert self._proof is not None
        return CallSites(self.image, lambda: len(self._keys), self.call_target, self._proof(), self.code_evidence)

    def load(self, number: int) -> LoadedImage:
        """As :meth:`ImageTable.load`, with the table of code that a process has copied."""
        if number not in self._loaded and self._copies is not None:
            image = self.image(number)
            if image.kind is ImageKind.ANON and image.name not in self._given:
                table = self._copies(number, self.rules)
                if table is not None:
                    self._loaded[number] = LoadedImage(ImageState.COPIED, table=table)
        return super().load(number)

    def _load(self, image: Image) -> LoadedImage:
        if not self.machine.is_walked:
            return super()._load(image)
        if image.name in self._given and "sframe" in self._order:
            return LoadedImage(ImageState.HAS_TABLE, table=self._given[image.name].table_with(self.rules))
        if image.kind in WITHOUT_FILE:
            return LoadedImage(ImageState.ANONYMOUS)
        if image.name == UPROBES:
            return LoadedImage(ImageState.UPROBES)
        if image.kind is ImageKind.MODULE:
            return LoadedImage(ImageState.UNUSABLE)
        if image.kind is ImageKind.JITDUMP:
            return self._load_dump(image)
        elf = image.elf
        if image.plain is not None:
            return LoadedImage(ImageState.EXHAUSTED)
        if elf is None or elf.machine != self.machine.elf_machine:
            return LoadedImage(ImageState.UNUSABLE)
        segments = [(offset, size, address) for offset, size, address, _flags in image.load_segments()]
        table = self._tables.get(image.number)
        if table is None:
            table = self._tables[image.number] = self._table(image, elf)
            elf.release()
            elf.forget_sections()
        return LoadedImage(ImageState.HAS_TABLE, segments, table, _entry(elf))

    def _table(self, image: Image, elf: ElfFile) -> UnwindTable:
        @cache
        def debug_elf() -> ElfFile | None:
            return image.debug_elf

        @cache
        def debug_mark() -> bytes:
            found = debug_elf()
            return (fingerprint(found) or NO_DEBUG) if found is not None else NO_DEBUG

        order = self._order
        if not self._patient and not _is_described(elf):
            order = tuple(kind for kind in order if kind != "code")
        key = key_of(elf, order) if self._disk is not None else None
        if key is not None and key in self._kept:
            return self._kept[key].table
        stored = self._disk.load(key, self.rules) if self._disk is not None and key is not None else None
        table = UnwindTable.from_elf(
            elf,
            order,
            debug_elf=debug_elf,
            rules=self.rules,
            limits=self._limits,
            quick=True,
            kept=stored.rows if stored is not None else None,
            holds=(lambda: debug_mark() == stored.debug_mark) if stored is not None else None,
        )
        if key is not None:
            self._kept[key] = _Kept(elf, table, debug_mark, stored.debug_mark if stored is not None else None)
        return table

    @property
    def tables(self) -> list[UnwindTable]:
        """The tables loaded so far."""
        return list(self._tables.values())

    @property
    def built(self) -> int:
        """How many sections of unwind information were read so far because no cached table had the rows."""
        return sum(table.built for table in {id(table): table for table in self._tables.values()}.values())

    def counts(self) -> dict[str, int]:
        """Counts of tables so far, by what was done with them."""
        disk = self._disk
        return {
            "binaries": len(self._tables),
            "sections read": self.built,
            "from the cache": disk.hits if disk is not None else 0,
            "kept there": disk.written if disk is not None else 0,
            "damaged there": disk.damaged if disk is not None else 0,
        }

    def forget(self, numbers: Iterable[int]) -> None:
        """Drop the tables of images, whose rows go to the disk cache first, and close their files. They are loaded
        again when they are needed; walkers must be new then."""
        dropped = [number for number in numbers if self._loaded[number].table is not None]
        images = {image.number: image for image in map(self.image, dropped)}
        for number in dropped:
            del self._loaded[number]
        for number in self._loaded:
            images.pop(self.image(number).number, None)
        tables = {id(self._tables.pop(number)) for number in images if number in self._tables}
        # Two images may be one file.
        tables -= {id(table) for table in self._tables.values()}
        keys = [key for key, kept in self._kept.items() if id(kept.table) in tables]
        self.keep_tables(keys)
        for key in keys:
            del self._kept[key]
        for image in images.values():
            image.close()

    def keep_tables(self, keys: "Iterable[Key] | None" = None) -> int:
        """Write the rows of these tables, or of all, to the disk cache that are not there yet; how many files were
        written."""
        if self._disk is None:
            return 0
        before = self._disk.written
        for key in list(self._kept) if keys is None else keys:
            kept = self._kept[key]
            table = kept.table
            new = len(table.functions.asked) if table.built else 0
            if (table.kept is not None and new < self.least_new) or kept.elf.was_cut:
                continue
            with self.lock, self._store.finder.defects.contained(key.path):
                mark = NOT_ASKED
                if table.exhausted:
                    mark = kept.debug_mark()
                elif table.kept is not None and kept.stored_mark is not None:
                    mark = kept.stored_mark
                if table.kept is not None and kept.stored_mark not in (mark, NOT_ASKED):
                    # Its gaps depend on another debug file.
                    continue
                if self._disk.save(key, table.known(), self.rules, mark):
                    self._kept[key] = _Kept(kept.elf, table, kept.debug_mark, mark)
        if self._disk.written > before:
            self._disk.trim()
        return self._disk.written - before

    def _load_dump(self, image: Image) -> LoadedImage:
        """Just-in-time compiled code: its addresses are offsets in the dump."""
        dump = image.jitdump
        if dump is None:
            return LoadedImage(ImageState.UNUSABLE)
        segments = [(0, len(dump.data), 0)]
        # The dumps of CPython 3.13 name no machine at first.
        if "eh-frame" not in self._order or dump.machine not in (EM_NONE, self.machine.elf_machine):
            return LoadedImage(ImageState.EXHAUSTED, segments)
        table = self._tables.get(image.number)
        if table is None:
            from undwarf.tables.from_jitdump import table_of_jitdump

            table = self._tables[image.number] = table_of_jitdump(dump, self.rules)
        return LoadedImage(ImageState.HAS_TABLE, segments, table)


def _is_described(elf: ElfFile) -> bool:
    """Whether `.eh_frame` has functions, so that only gaps between them are left to code analysis."""
    header = find_header(elf)
    return header is not None and header.is_usual and header.functions > 0


def _entry(elf: ElfFile) -> int:
    """Where a program starts, 0 for a file that is none: the ELF files that `perf inject --jit` writes for functions
    state the function's start, but have nothing for a loader."""
    if elf.kind == ET_DYN and not any(segment.type == PT_DYNAMIC for segment in elf.segments):
        return 0
    return int(elf.entry)
