"""On-disk cache of the answers for one binary's instructions, keyed by the identity of the binary and its debug file.

A file is, little-endian:

    8   magic                   4   version
    16  key: the binary, its debug file, the limits, and the build of undwarf
    16  BLAKE2b of all that follows
    deflated JSON: {"texts": [...], "rows": [[...], ...]}

A row has integers only; text is given as index in `texts`, -1 for None. Anything unexpected is a miss: all is computed
again.
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

__all__ = ["SUFFIX", "Answer", "AnswerCache", "answer_files", "cached_answers"]

SUFFIX = ".answers"
MAGIC = b"undwarf\xb8"
VERSION = 2
"""Incremented with the format."""

_PREFIX = struct.Struct("<8sI16s16s")
_MAKERS = ("types", "dwarf", "disasm", "elf", "tables", "symbols")
"""The packages that answers depend on: another build invalidates the cache."""


class Answer(NamedTuple):
    """The access of one instruction; ``inferred``: it is that of an earlier instruction (skid), ``consumed``: whose
    result the sampled one uses; ``intact``: the address registers are unchanged since."""

    access: Access
    inferred: bool
    consumed: bool
    intact: bool


class AnswerCache:
    """Cached answers for one binary, by ELF virtual address."""

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
    def cached(self) -> dict[int, Answer]:
        """Answers of earlier runs."""
        data = self._files.read(self._name)
        found = decode(data, self._key, self._limits) if data is not None else None
        if found is None:
            return {}
        self._files.touch(self._name)
        return found

    def keep(self, more: Mapping[int, Answer]) -> bool:
        """Add answers to the cache; True if that was necessary and succeeded.

        Nothing is cached if a defect occurred meanwhile: the next run must report it, too, and may find more.
        """
        if _damage(self._defects) != self._before or all(address in self.cached for address in more):
            return False
        if any(file.was_cut for file in self._described):
            return False
        whole = {**self.cached, **more}
        if len(whole) > self._limits.kept_answers:
            # The next run will most likely need the same.
            whole = dict(list(more.items())[: self._limits.kept_answers])
        return self._files.write(self._name, encode(whole, self._key))

    def trim(self) -> None:
        """Drop the least recently used files beyond the directory's limit."""
        self._files.trim()


def answer_files(limits: Limits = DEFAULT) -> DiskCache | None:
    """The user's cache directory of answers; None if there is none."""
    directory = cache_directory("types")
    return DiskCache(directory, SUFFIX, limits.answer_bytes) if directory is not None else None


def _damage(defects: Defects) -> int:
    return sum(one.count for one in defects)


def cached_answers(
    files: DiskCache,
    elf: ElfFile,
    debug: ElfFile | None,
    asked: str,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> AnswerCache | None:
    """The cached answers for a binary with DWARF; ``asked`` identifies the kind of query.

    None if neither the binary nor its debug file has DWARF, or if they cannot be identified.
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
    return AnswerCache(files, name, key, limits, defects, both)


def _identity(file: ElfFile) -> object | None:
    """The build-id and file status: tools may remove or add debugging information and keep the build-id."""
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
    """The contents of a cache file."""
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
    """The answers in a cache file; None if the key differs or the file is damaged."""
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
