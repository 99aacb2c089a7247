"""What instructions of one binary touch, kept on disk from run to run by what the binary and its debug file are.

A file is, little-endian::

    8   magic                   4   version
    16  key: the binary, its debug file, the limits, and the build of undwarf that answered
    16  BLAKE2b of all that follows
    deflated JSON: {"texts": [...], "rows": [[...], ...]}

A row is numbers only; those that stand for text are places in `texts`, -1 for None. Whatever is not exactly as it
should be is a miss: then all is answered again.
"""

import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from undwarf.defects import Defects
from undwarf.disasm import Memory
from undwarf.disk_cache import DiskCache, build_identity, cache_directory
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits
from undwarf.types.access import Access

__all__ = ["SUFFIX", "Answer", "KeptAnswers", "answer_files", "kept_answers"]

SUFFIX = ".answers"
MAGIC = b"undwarf\xb8"
VERSION = 2
"""Grows with the format."""

_PREFIX = struct.Struct("<8sI16s16s")
_MAKERS = ("types", "dwarf", "disasm", "elf", "tables", "symbols")
"""What has a part in an answer: another build of it may answer otherwise."""


class Answer(NamedTuple):
    """What one instruction touches; whether that was inferred for an instruction before it, which then the sampled one
    consumes or not, and whether the registers that say the address are still those the access used."""

    access: Access
    inferred: bool
    consumed: bool
    intact: bool


class KeptAnswers:
    """The answers about one binary, by ELF virtual address: those of earlier runs, and a way to keep more."""

    def __init__(
        self,
        files: DiskCache,
        name: str,
        key: bytes,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
        described: tuple[ElfFile, ...] = (),
    ) -> None:
        self._files = files
        self._described = described
        self._name = name
        self._key = key
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._before = _damage(self._defects)

    @cached_property
    def known(self) -> dict[int, Answer]:
        """What earlier runs kept."""
        data = self._files.read(self._name)
        found = decode(data, self._key, self._limits) if data is not None else None
        if found is None:
            return {}
        self._files.touch(self._name)
        return found

    def keep(self, more: Mapping[int, Answer]) -> bool:
        """Keep further answers beside those that are known; whether that was needed, and could be done.

        Where something was amiss meanwhile, nothing is kept: the next run is to say so as well, and may find more.
        """
        if _damage(self._defects) != self._before or all(address in self.known for address in more):
            return False
        if any(file.was_cut for file in self._described):
            return False
        whole = {**self.known, **more}
        if len(whole) > self._limits.kept_answers:
            # What this run needs is what the next one will.
            whole = dict(list(more.items())[: self._limits.kept_answers])
        return self._files.write(self._name, encode(whole, self._key))

    def trim(self) -> None:
        """Let the directory keep to its limit."""
        self._files.trim()


def answer_files(limits: Limits = DEFAULT) -> DiskCache | None:
    """Where the user's answers are kept; None where nothing is to be kept."""
    directory = cache_directory("types")
    return DiskCache(directory, SUFFIX, limits.answer_bytes) if directory is not None else None


def _damage(defects: Defects) -> int:
    return sum(one.count for one in defects)


def kept_answers(
    files: DiskCache,
    elf: ElfFile,
    debug: ElfFile | None,
    asked: str,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> KeptAnswers | None:
    """The answers about a binary that its DWARF describes; ``asked`` tells apart what is asked of instructions.

    None where neither the binary nor its debug file has DWARF, or where they cannot be told from others.
    """
    described = next((file for file in (elf, debug) if file is not None and file.section(".debug_info")), None)
    if described is None:
        return None
    about: list[object] = [asked, limits]
    for file in (elf, debug):
        if file is not None:
            sections = [(one.name, one.address, one.size, one.type, one.flags) for one in file.sections]
            identity = _identity(file)
            if identity is None:
                return None
            about += [file.machine, file.kind, sections, identity]
    mark = blake2b(repr(about).encode("utf-8", "backslashreplace"), digest_size=16).digest()
    key = blake2b(mark + build_identity(*_MAKERS), digest_size=16).digest()
    # Hexadecimal only: nothing that a file says becomes part of a path.
    name = f"{elf.build_id.hex()[:64] or 'none'}-{mark.hex()}{SUFFIX}"
    both = tuple(file for file in (elf, debug) if file is not None)
    return KeptAnswers(files, name, key, limits, defects, both)


def _identity(file: ElfFile) -> object | None:
    """The build-id, and the file itself: tools may take debugging information out or put other in, and leave the id."""
    from pathlib import Path

    try:
        status = Path(file.path).stat()
    except (OSError, ValueError):
        return None
    if status.st_size != len(file.data):
        return None
    return (
        file.build_id,
        str(Path(file.path).absolute()),
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
    )


def encode(answers: Mapping[int, Answer], key: bytes) -> bytes:
    """The bytes of a file with these answers."""
    texts: dict[str, int] = {}

    def text(value: str | None) -> int:
        return -1 if value is None else texts.setdefault(value, len(texts))

    rows = []
    for address, one in answers.items():
        access, operand = one.access, one.access.operand
        row = [
            address, one.inferred << 2 | one.consumed << 1 | one.intact, access.address, text(access.insn),
            text(access.access), text(access.type), -1 if access.offset is None else access.offset, text(access.field),
            access.size, text(access.how), text(access.reason), access.type_size,
            access.layout,
        ]  # fmt: skip  # a table
        if operand is not None:
            row += [operand.base, operand.index, operand.scale, operand.displacement, text(operand.segment)]
            row += [operand.size, text(operand.access), operand.implicit, operand.element]
        else:
            row += [0] * _OPERAND
        row.append(operand is not None)
        row += [text(candidate) for candidate in access.candidates]
        rows.append(row)
    import json  # not at the top: nothing may be kept

    body = zlib.compress(json.dumps({"texts": list(texts), "rows": rows}, separators=(",", ":")).encode(), 1)
    return _PREFIX.pack(MAGIC, VERSION, key, blake2b(body, digest_size=16).digest()) + body


_OPERAND = 9
_FIXED = 13 + _OPERAND + 1


def decode(data: memoryview, key: bytes, limits: Limits = DEFAULT) -> dict[int, Answer] | None:
    """The answers in a file's bytes; None if they are not those of ``key``, or not as they were written."""
    if len(data) < _PREFIX.size:
        return None
    magic, version, of, digest = _PREFIX.unpack_from(data)
    body = data[_PREFIX.size :]
    if (magic, version, of) != (MAGIC, VERSION, key) or digest != blake2b(body, digest_size=16).digest():
        return None
    import json

    with suppress(zlib.error, ValueError, KeyError, TypeError, IndexError):
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(body, limits.answer_bytes)
        if not unpacker.eof:
            return None
        told = json.loads(plain)
        texts = told["texts"]
        return {row[0]: _answer(row, texts) for row in told["rows"]}
    return None


def _answer(row: list[int], texts: list[str]) -> Answer:
    (
        _address, flags, address, insn, access, of, offset, field, size, how, reason, type_size, layout,
        base, index, scale, displacement, segment, width, direction, implicit, element, has_operand,
    ) = row[:_FIXED]  # fmt: skip  # a table
    operand = None
    if has_operand:
        operand = Memory(
            base,
            index,
            scale,
            displacement,
            segment=texts[segment],
            size=width,
            access=texts[direction],
            implicit=bool(implicit),
            element=element,
        )
    found = Access(
        address,
        texts[insn],
        texts[access],
        None if of < 0 else texts[of],
        None if of < 0 else offset,
        texts[field],
        size,
        texts[how],
        tuple(texts[candidate] for candidate in row[_FIXED:]),
        texts[reason],
        type_size=type_size,
        layout=layout,
        operand=operand,
    )
    return Answer(found, bool(flags & 4), bool(flags & 2), bool(flags & 1))
