"""Unwind tables as ELF files: sections alone, or a copy of the binary that carries them."""

from collections.abc import Sequence
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.writer import NewSection, file_of_sections, with_sections
from undwarf.errors import NothingUsable, UsageError
from undwarf.outputs.atomic_file import whole_file


def write_sections(elf: ElfFile, sections: Sequence[NewSection], path: str) -> None:
    """An ELF file with the sections alone. Raises NothingUsable where there are none, UsageError where the file cannot
    be written."""
    _write(elf, file_of_sections(elf, _some(elf, sections)), path, 0o644)


def write_carrying(elf: ElfFile, sections: Sequence[NewSection], path: str) -> None:
    """A copy of the file that carries the sections, with its mode. Raises as :func:`write_sections`, and ElfError for a
    file that cannot carry any."""
    try:
        mode = Path(elf.path).stat().st_mode & 0o777
    except OSError:
        mode = 0o644
    _write(elf, with_sections(elf, _some(elf, sections)), path, mode)


def _some(elf: ElfFile, sections: Sequence[NewSection]) -> Sequence[NewSection]:
    if not sections:
        raise NothingUsable(f"nothing of {elf.path} can be written in this format", "", "try another --source")
    return sections


def _write(elf: ElfFile, data: bytes, path: str, mode: int) -> None:
    """All of the file or nothing of it; never over the file that was read."""
    target = Path(path)
    if target.exists() and target.samefile(elf.path):
        raise UsageError(f"{path} is the file that is read", "", "write to another one")
    try:
        with whole_file(target, mode) as file:
            file.write(data)
    except OSError as error:
        why = str(error.strerror or error)
        raise UsageError(f"cannot write {path}", why, "name a file in a directory that is there") from None
