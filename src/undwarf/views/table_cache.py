"""Whole tables for the cache."""

from undwarf.errors import UnreadableInput
from undwarf.tables.model import UnwindTable
from undwarf.tables.sources import FRAME_POINTERS, UNWIND_ORDER, require_supported
from undwarf.tables.store import NO_DEBUG, Store, fingerprint, key_of
from undwarf.views.unwind_rows import Binary


def keep_whole(store: Store, path: str) -> None:
    """Keep a binary's whole table, as walks use it. Raises ElfError where the file is none that can be read,
    UnreadableInput where its table cannot be kept."""
    binary = Binary.open(path)
    debug = binary.debug_elf()
    order = tuple(kind for kind in UNWIND_ORDER if kind != FRAME_POINTERS)
    require_supported(binary.elf, order)
    table = UnwindTable.from_elf(binary.elf, order, debug_elf=lambda: debug, defects=binary.defects, quick=True)
    table.complete()
    key = key_of(binary.elf, order)
    mark = (fingerprint(debug) or NO_DEBUG) if debug is not None else NO_DEBUG
    if key is None or not store.save(key, table.functions.all_columns(), table.rules, mark):
        raise UnreadableInput(f"the table of {path} cannot be kept", f"{store.directory} or the file does not allow it")
    store.trim()
