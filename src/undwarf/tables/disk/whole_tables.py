"""Fills the cache with whole tables, ahead of walks."""

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.tables.disk.cache import NO_DEBUG, Store, fingerprint, key_of
from undwarf.tables.model import UnwindTable
from undwarf.tables.sources import FRAME_POINTERS, UNWIND_ORDER, require_supported


def store_whole(store: Store, path: str, elf: ElfFile, debug: ElfFile | None, defects: Defects) -> None:
    """Store all rows of a binary's table, as walks use it. Raises UnreadableInput if that fails."""
    order = tuple(kind for kind in UNWIND_ORDER if kind != FRAME_POINTERS)
    require_supported(elf, order)
    table = UnwindTable.from_elf(elf, order, debug_elf=lambda: debug, defects=defects, quick=True)
    table.complete()
    key = key_of(elf, order)
    mark = (fingerprint(debug) or NO_DEBUG) if debug is not None else NO_DEBUG
    if key is None or not store.save(key, table.functions.all_columns(), table.rules, mark):
        raise UnreadableInput(
            f"the table of {path} cannot be cached", f"{store.directory} or the file does not allow it"
        )
    store.trim()
