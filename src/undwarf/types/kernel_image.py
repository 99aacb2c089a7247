"""The recorded kernel as a binary: its file, load address, symbols and BTF.

A vmlinux with DWARF is best. Without one, the boot image has the same code and the kernel's BTF, and kallsyms has its
functions, so that types of the running kernel need no debugging package.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.errors import UndwarfError
from undwarf.images import Image, ImageStore, build_ids
from undwarf.images.kernel_finder import boot_image, running_kernel_build_id
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.kernel_symbols import (
    KernelReference,
    KernelTable,
    kernel_key,
    kernel_reference,
    kernel_table,
    moved,
)
from undwarf.symbols.symbol_table import SymbolTable

if TYPE_CHECKING:
    from undwarf.types.sources.btf import BtfFile

__all__ = ["RUNNING_BTF", "KernelBinary", "kernel_binary"]

RUNNING_BTF = "/sys/kernel/btf/vmlinux"


@dataclass(slots=True)
class KernelBinary:
    """The kernel's file. ``delta`` is the runtime address minus that in the file; ``symbols`` are set if the file has
    none; ``foreign_btf`` is the running kernel's BTF, if the file has no types and that kernel is the recorded one."""

    elf: ElfFile
    delta: int
    symbols: SymbolTable | None = None
    foreign_btf: "BtfFile | None" = None

    def btf(self, limits: Limits = DEFAULT) -> "BtfFile | None":
        """The BTF that is the base of the modules' split BTF."""
        from undwarf.types.open_resolver import btf_of

        return self.foreign_btf or btf_of(self.elf, None, limits)


def kernel_binary(store: ImageStore, records: Any, limits: Limits = DEFAULT) -> KernelBinary | str:
    """The recorded kernel, or the reason why its code is not available. Without ``records``, that of the store's
    kernel image, and ``delta`` is only right if the kernel was not moved."""
    key = kernel_key(records) if records is not None else None
    image = store.image(key) if key is not None else store.kernel()
    reference = kernel_reference(records) if records is not None else None
    elf, problem = image.elf, ""
    if elf is None:
        elf, problem = boot_image(store.finder, image.build_id, store.osrelease)
    if elf is None:
        return problem
    symbols = symbols_of_elf(elf, limits)
    if symbols is None and records is None:
        reference = _reference_of_kallsyms(store, image, limits)
    at = _address_in_file(elf, symbols, reference)
    if reference is not None and at is None:
        return "load address of the kernel unknown"
    delta = (reference.address - at) & 0xFFFFFFFFFFFFFFFF if reference is not None and at is not None else 0
    given = None
    if symbols is None:
        given = _from_kallsyms(store, image, reference, delta, limits)
        if given is None:
            return "neither the kernel's file nor kallsyms has symbols"
    has_types = elf.section(".debug_info") is not None or elf.section(".BTF") is not None
    return KernelBinary(elf, delta, given, None if has_types else _running_btf(image, limits))


def _address_in_file(elf: ElfFile, symbols: SymbolTable | None, reference: KernelReference | None) -> int | None:
    """Address of the reference symbol in the file; the start of the kernel's code if the file has no symbols."""
    if reference is None:
        return None
    found = symbols.address_of_name(reference.symbol) if symbols is not None else None
    if found is None and reference.symbol in (b"_text", b"_stext"):
        found = min((segment.address for segment in elf.loads if segment.flags & PF_X), default=None)
    return found


def _reference_of_kallsyms(store: ImageStore, image: Image, limits: Limits) -> KernelReference | None:
    """Where the kernel of kallsyms lay."""
    table, _why = kernel_table(store, image, None, limits)
    address = table.symbols.address_of_name(b"_text") if isinstance(table, KernelTable) else None
    return KernelReference(b"_text", address) if address is not None else None


def _from_kallsyms(
    store: ImageStore, image: Image, reference: KernelReference | None, delta: int, limits: Limits
) -> SymbolTable | None:
    """The functions of kallsyms, relocated to the file's addresses."""
    table, _why = kernel_table(store, image, reference, limits)
    return moved(table, delta, limits) if isinstance(table, KernelTable) else None


def _running_btf(image: Image, limits: Limits) -> "BtfFile | None":
    if not image.build_id or not build_ids.same(running_kernel_build_id(), image.build_id):
        return None
    from undwarf.types.sources.btf import open_btf

    try:
        return open_btf(RUNNING_BTF, limits=limits)
    except (UndwarfError, OSError):
        return None
