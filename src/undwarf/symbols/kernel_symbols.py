"""Symbols of the kernel, its modules and code that it generates, at their runtime addresses."""

import os
import stat
from dataclasses import dataclass
from typing import Any, NamedTuple

from undwarf.column import zeros
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.images.kernel_finder import kallsyms_files
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.symbol_table import UNTIL_LINE, UNTIL_SPACE, SymbolTable
from undwarf.symbols.text_symbols import read_kallsyms

RUNNING_KALLSYMS = "/proc/kallsyms"
MMAP = 1
KSYMBOL = 5
UNREGISTERED = 1
"""Side-band kinds, as undwarf.perfdata numbers them."""


class KernelReference(NamedTuple):
    """The recorded kernel's location: the runtime ``address`` of the symbol that perf took as reference."""

    symbol: bytes
    address: int


class KernelSymbol(NamedTuple):
    """Code the kernel announced while recording (BPF programs, trampolines); sizes in bytes."""

    address: int
    size: int
    name: bytes


@dataclass(slots=True, repr=False, eq=False)
class KernelTable:
    """The kernel's symbols, the delta from their addresses to those of the recorded run, and where they come from.

    ``text`` is that of kallsyms (empty for a vmlinux); ``all_symbols`` includes those of its modules. If the delta
    shows that they are of another boot, ``symbols`` has none of modules.
    """

    symbols: SymbolTable
    delta: int
    source: str
    all_symbols: SymbolTable
    text: bytes = b""
    modules: dict[bytes, int] | None = None
    """The addresses of modules for these symbols, by name; read at first use."""

    def begins(self, address: int) -> bool:
        """Whether a function, or its padding, begins at a runtime address, right after another function."""
        symbols = self.symbols
        symbol = symbols.find((address - self.delta) & 0xFFFFFFFFFFFFFFFF)
        if symbol is None or symbols.extent(symbol)[0] != (address - self.delta) & 0xFFFFFFFFFFFFFFFF:
            return False
        before = symbols.find((address - self.delta - 1) & 0xFFFFFFFFFFFFFFFF)
        return before is not None and not symbols.names_at(before)[0].startswith(b"__pfx_")


def _kernel_row(records: Any) -> int | None:
    """The side-band row of the recording's kernel mapping."""
    for index, name in enumerate(records.names):
        if name.startswith(b"[kernel.kallsyms]"):
            try:
                row: int = records.sideband.name.tolist().index(index)
            except ValueError:
                continue
            if records.sideband.kind[row] == MMAP:
                return row
    return None


def kernel_key(records: Any) -> tuple[int, int] | None:
    """The image key of the recording's kernel mapping."""
    row = _kernel_row(records)
    return None if row is None else (records.sideband.name[row], records.sideband.identity[row])


def kernel_reference(records: Any) -> KernelReference | None:
    """The reference symbol of the recording's kernel mapping (its name follows ``[kernel.kallsyms]``).

    None without such a mapping, or where kptr_restrict hid the address (page offset 0).
    """
    row = _kernel_row(records)
    if row is None:
        return None
    offset = records.sideband.mmaps.page_offset[row]
    symbol = records.names[records.sideband.name[row]].removeprefix(b"[kernel.kallsyms]")
    return KernelReference(symbol, offset) if symbol and offset else None


def kernel_symbols(records: Any) -> list[KernelSymbol]:
    """All code that KSYMBOL records announce, in the order of the records; unregistering does not remove it."""
    sideband = records.sideband
    ksymbols = sideband.ksymbols
    kinds = bytes(sideband.kind)
    found = []
    at = kinds.find(KSYMBOL)
    while at >= 0:
        if not ksymbols.flags[at] & UNREGISTERED and ksymbols.length[at]:
            found.append(KernelSymbol(ksymbols.address[at], ksymbols.length[at], records.names[sideband.name[at]]))
        at = kinds.find(KSYMBOL, at + 1)
    return found


def table_of_announced(symbols: list[KernelSymbol]) -> SymbolTable | None:
    """A table of announced code; the latest at an address wins."""
    if not symbols:
        return None
    values = zeros("Q", len(symbols))
    sizes = zeros("Q", len(symbols))
    names = zeros("Q", len(symbols))
    text = bytearray()
    for i, symbol in enumerate(reversed(symbols)):
        values[i] = symbol.address
        sizes[i] = symbol.size
        names[i] = len(text)
        text += symbol.name.replace(b"\n", b"?") + b"\n"
    # Older ones at the same address tie and come after.
    return SymbolTable(
        values, sizes, zeros("Q", len(symbols)), names, zeros("B", len(symbols)), None, [bytes(text)], UNTIL_LINE
    )


def read_text(path: str, limit: int) -> bytes:
    """Reads a text file of bounded size; ``/proc`` files report size 0. Raises OSError, ValueError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("not a regular file")
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(fd, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a regular file")
        parts = []
        left = limit + 1
        # The kernel returns a page at a time: a larger buffer would be allocated, and shrunk, each time.
        size = 1 << 22 if os.fstat(fd).st_size else 1 << 14
        while left > 0 and (part := file.read(min(left, size))):
            parts.append(part)
            left -= len(part)
    if left <= 0:
        raise ValueError(f"larger than the limit of {limit} bytes")
    return b"".join(parts)


def _kallsyms_text(path: str, limits: Limits) -> tuple[bytes | None, str]:
    try:
        return read_text(path, limits.text_map_bytes), ""
    except (OSError, ValueError) as error:
        return None, f"{path}: {getattr(error, 'strerror', None) or error}"


def table_of_kallsyms(text: bytes, limits: Limits = DEFAULT, *, modules: bool = True) -> tuple[SymbolTable | None, str]:
    """The symbols of kallsyms text, with those of modules or without, else None and the reason why it is unusable."""
    values, names, ranks, owners, count, hidden = read_kallsyms(text, limits.symbols)
    if not count:
        return None, "no symbols"
    if hidden == count:
        return None, "kernel.kptr_restrict hides the addresses"
    if not modules:
        kept = [i for i, owner in enumerate(owners) if not owner]
        count = len(kept)
        values, names, ranks, owners = (_chosen(column, kept) for column in (values, names, ranks, owners))
    zero = zeros("Q", count)
    return SymbolTable(values, zero, zero, names, ranks, owners, [text], UNTIL_SPACE), ""


def moved(table: KernelTable, delta: int, limits: Limits = DEFAULT) -> SymbolTable | None:
    """The kernel's own kallsyms symbols at the addresses of its file, ``delta`` below the runtime ones; None if the
    table is not of kallsyms. Symbols at fixed addresses, such as per-cpu variables, are left out."""
    if not table.text:
        return None
    values, names, ranks, owners, _count, _hidden = read_kallsyms(table.text, limits.symbols)
    kept = [i for i, owner in enumerate(owners) if not owner and values[i] >> 63]
    values, names, ranks, owners = (_chosen(column, kept) for column in (values, names, ranks, owners))
    for i, value in enumerate(values):
        values[i] = (value + table.delta - delta) & 0xFFFFFFFFFFFFFFFF
    zero = zeros("Q", len(kept))
    return SymbolTable(values, zero, zero, names, ranks, owners, [table.text], UNTIL_SPACE)


def _chosen(column: Any, rows: list[int]) -> Any:
    chosen = zeros(column.format, len(rows))
    for i, row in enumerate(rows):
        chosen[i] = column[row]
    return chosen


def kernel_table(
    store: ImageStore, kernel: Image, reference: KernelReference | None, limits: Limits = DEFAULT
) -> tuple[KernelTable | None, str]:
    """The symbols of the recorded kernel, else None and the reason.

    From the user's kallsyms, perf's cache, this machine's kallsyms if the build-id is the running kernel's, and a
    vmlinux. A copy may be of another boot with another KASLR base: the reference symbol gives the delta.
    Older versions of perf write no build-id with compression and into pipes; then this machine's kallsyms are right if
    host, release and the reference's address are those of the recording.
    """
    finder = store.finder
    reasons = []
    if not kernel.build_id and not finder.kallsyms and not finder.vmlinux and store.is_of_this_system:
        text, _why = _kallsyms_text(RUNNING_KALLSYMS, limits)
        table = table_of_kallsyms(text, limits)[0] if text is not None else None
        if text is not None and table is not None and reference is not None:
            if table.address_of_name(reference.symbol) == reference.address:
                return KernelTable(table, 0, RUNNING_KALLSYMS, table, text), ""
            reasons.append(f"{RUNNING_KALLSYMS}: the recorded kernel lay elsewhere")
    if not (finder.vmlinux and not finder.kallsyms):
        for path in kallsyms_files(finder, kernel.build_id):
            text, why = _kallsyms_text(path, limits)
            table, unusable = table_of_kallsyms(text, limits) if text is not None else (None, "")
            if table is not None and text is not None:
                delta = _delta(table, reference)
                own = table_of_kallsyms(text, limits, modules=False)[0] if delta else table
                return KernelTable(own or table, delta, path, table, text), ""
            why = why or f"{path}: {unusable}"
            reasons.append(why)
            if path == finder.kallsyms:
                return None, why
    elf = kernel.elf if kernel.kind is ImageKind.KERNEL else None
    if elf is not None:
        table = symbols_of_elf(elf, limits)
        if table is not None:
            return KernelTable(table, _delta(table, reference), elf.path, table), ""
        reasons.append(f"{elf.path}: no symbols")
    return None, reasons[-1] if reasons else "no kallsyms or vmlinux with the kernel's build-id"


def _delta(table: SymbolTable, reference: KernelReference | None) -> int:
    """What to subtract from a runtime address to get the table's: unsigned, wraps at 64 bits."""
    if reference is None:
        return 0
    address = table.address_of_name(reference.symbol)
    return (reference.address - address) & 0xFFFFFFFFFFFFFFFF if address is not None else 0
