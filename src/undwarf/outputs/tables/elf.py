"""Unwind tables as ELF files: only the new sections, or a copy of the binary with them."""

from collections.abc import Sequence
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.writer import NewSection, file_of_sections, with_sections
from undwarf.errors import NothingUsable, UsageError
from undwarf.outputs.atomic_file import whole_file


def write_sections(elf: ElfFile, sections: Sequence[NewSection], path: str) -> None:
    """Write an ELF file with only these sections. Raises NothingUsable if there are none, UsageError if the file cannot
    be written."""
    _write(elf, file_of_sections(elf, _not_empty(elf, sections)), path, 0o644)


def write_carrying(elf: ElfFile, sections: Sequence[NewSection], path: str) -> None:
    """Write a copy of the file with the sections and the file's mode. Raises as :func:`write_sections`, and ElfError if
    the file cannot be extended."""
    try:
        mode = Path(elf.path).stat().st_mode & 0o777
    except OSError:
        mode = 0o644
    _write(elf, with_sections(elf, _not_empty(elf, sections)), path, mode)


def _not_empty(elf: ElfFile, sections: Sequence[NewSection]) -> Sequence[NewSection]:
    if not sections:
        raise NothingUsable(f"nothing of {elf.path} can be written in this format", "", "try another --source")
    return sections


def _write(elf: ElfFile, data: bytes, path: str, mode: int) -> None:
    """Write the whole file or nothing, and never over ``elf`` itself."""
    target = Path(path)
    if target.exists() and target.samefile(elf.path):
        raise UsageError(f"{path} is the file that is read", "", "write to another one")
    try:
        with whole_file(target, mode) as file:
            file.write(data)
    except OSError as error:
        why = str(error.strerror or error)
        raise UsageError(f"cannot write {path}", why, "name a file in a directory that is there") from None
