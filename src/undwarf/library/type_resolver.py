"""Data types that the instructions of one file access."""

import os
from collections.abc import Iterable, Sequence

from undwarf.types.access import Access
from undwarf.types.open_resolver import open_path


class TypeResolver:
    """Finds what instructions of an ELF file access: the type, the member, and the evidence for it.

    Types come from the file's DWARF (its separate debug file is found as for recordings, also in ``debug_dirs``), else
    from its BTF, or from the file ``btf``; ``vmlinux`` has the base of a kernel module's BTF. Answers are kept.
    Raises ElfError if the file cannot be read, NothingUsable if it has no type information or its code is not of
    x86-64 or AArch64.

    >>> resolver = undwarf.TypeResolver("words")
    >>> (access,) = resolver.at(access_in_words)
    >>> access.type, access.field, access.evidence
    ('struct entry', 'count', <TypeEvidence.TRACKING: 'tracking'>)
    """

    def __init__(
        self,
        elf: "str | os.PathLike[str]",
        *,
        btf: str = "",
        vmlinux: str = "",
        debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
    ) -> None:
        self.path = os.fspath(elf)
        directories = tuple(os.fspath(directory) for directory in debug_dirs)
        self._resolver = open_path(self.path, btf=btf, vmlinux=vmlinux, debug_dirs=directories)

    def at(self, address: int) -> list[Access]:
        """What the instruction at an ELF virtual address accesses, one entry for each memory operand; one without a
        type and with the reason if it has none, or is no instruction."""
        return list(self._resolver.at(address))

    def __repr__(self) -> str:
        return f"<undwarf.TypeResolver {self.path}>"


def accesses(binary: "str | os.PathLike[str]", addresses: Iterable[int], *, btf: str = "") -> list[Access]:
    """What instructions of an ELF file access, by their ELF virtual addresses: one entry for each memory operand.

    The short form of :class:`TypeResolver` for addresses that are known at once, with the same errors.
    """
    resolver = TypeResolver(binary, btf=btf)
    return [access for address in addresses for access in resolver.at(address)]
