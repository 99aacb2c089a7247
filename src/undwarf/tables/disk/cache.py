"""The disk cache of unwind tables, by build-id: the next run starts with the rows that this one needed.

A file holds the rows of one binary's table that were needed so far, as columns (:mod:`undwarf.tables.flat_rows`) in
the format of :mod:`undwarf.tables.disk.packed_rows`, little-endian::

    8   magic                   8   bytes of the file
    4   version                 4   bytes of the header with its two strings
    16  BLAKE2b of all that follows these 40 bytes
    16  fingerprint of the binary     16  fingerprint of its debug file when holes were found to be final
    8   first address           4   rows          4   blocks
    4   bytes of row data       4   rules         4   bytes of the rules
    4   expressions             4   bytes of the expressions
    2   bytes of the build-id   2   bytes of the binary's path
    build-id, path, padding to 8 bytes
    index, row data, rules, lengths of the expressions (4 bytes each), the expressions

A file with any deviation is a miss, and the table is built again.
"""

import os
import stat
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.disk_cache import DiskCache, build_identity, cache_directory
from undwarf.elf import ElfFile, go_functions
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.disk import packed_rows, packed_rules
from undwarf.tables.model import UnwindTable
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import DEFAULT_ORDER

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"undwarf\xb7"
VERSION = 1
"""Grows with the format."""

_PREFIX = struct.Struct("<8sQII16s")
_HEAD = struct.Struct("<16s16sQIIIIIIIHH")
_SUFFIX = ".table"
_SECTIONS = (".eh_frame", ".eh_frame_hdr", ".debug_frame", ".sframe", ".text", *go_functions.SECTIONS)
_MOST_RULES = 0xFFFF - 2
_MAKERS = ("tables", "disasm", "elf")
"""Packages that read unwind information and code: another build of these may compute other rows of the same binary."""

NOT_ASKED = bytes(16)
"""Instead of a debug file's fingerprint: no debug file has been searched for, and no hole is final."""
NO_DEBUG = b"no debug file..."
"""Instead of a debug file's fingerprint: there was none."""

REGISTERS = {22: 33, 62: 17, 183: 34}
"""How many DWARF registers rules can name, by ELF machine."""


class Key(NamedTuple):
    """A binary's entry in the cache: the name of its file, build-id, fingerprint (of the binary, and of this build of
    undwarf), number of registers, path."""

    name: str
    build_id: bytes
    mark: bytes
    registers: int
    path: str


def fingerprint(elf: ElfFile, order: tuple[str, ...] = DEFAULT_ORDER) -> bytes | None:
    """A digest (16 bytes) that distinguishes files with the same build-id: of headers, and of where their unwind
    information is.

    ``order`` are the sources of the table.

    Without a build-id it is of the file itself too: path, device, inode, size and time of change; None if there is no
    such file.
    """
    places = [(section.name, section.address, section.size) for section in elf.sections if section.name in _SECTIONS]
    segments = [(one.type, one.flags, one.address, one.file_size, one.memory_size) for one in elf.segments]
    about: list[object] = [order, elf.machine, elf.kind, places, segments]
    if not elf.build_id:
        from pathlib import Path

        try:
            status = Path(elf.path).stat()
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_size != len(elf.data):
            return None
        about += [os.path.realpath(elf.path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return blake2b(repr(about).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def key_of(elf: ElfFile, order: tuple[str, ...] = DEFAULT_ORDER) -> Key | None:
    """The key of a binary's table of the sources in ``order``; None if it cannot be cached."""
    mark = fingerprint(elf, order)
    registers = REGISTERS.get(elf.machine, 0)
    if mark is None or not registers or elf.byte_order != "little":
        return None
    # Hexadecimal only: no input becomes part of a path.
    name = f"{elf.build_id.hex()[:64] or 'none'}-{mark.hex()}{_SUFFIX}"
    both = blake2b(mark + build_identity(*_MAKERS), digest_size=16).digest()
    return Key(name, elf.build_id, both, registers, elf.path)


class Entry(NamedTuple):
    """One file of the cache: its name, the binary's path and build-id, rows, rules, bytes, and seconds since the epoch
    of its last use. Without rows it is damaged, or of another version."""

    name: str
    path: str
    build_id: str
    rows: int
    rules: int
    size: int
    used: float


class StoredTable(NamedTuple):
    """A table from the cache: its rows, and the fingerprint of the debug file with which holes are final."""

    rows: packed_rows.PackedRows
    debug_mark: bytes


class Store:
    """The tables in one directory, limited to ``limits.store_bytes``.

    ``hits`` and ``misses`` count :meth:`load`, ``written`` counts files written. A damaged file is counted in
    ``damaged`` and ``defects``. No method raises for the contents of the directory, or for a directory that cannot be
    used.
    """

    def __init__(
        self, directory: "str | os.PathLike[str]", limits: Limits = DEFAULT, defects: Defects | None = None
    ) -> None:
        self._files = DiskCache(directory, _SUFFIX, limits.store_bytes)
        self.hits = 0
        self.misses = 0
        self.written = 0
        self.damaged = 0
        self.defects = defects if defects is not None else Defects()

    @property
    def directory(self) -> "Path":
        """The directory of the tables."""
        return self._files.directory

    @property
    def limit(self) -> int:
        """Bytes of all tables at most."""
        return self._files.limit

    @classmethod
    def from_environment(cls, limits: Limits = DEFAULT, defects: Defects | None = None) -> "Store | None":
        """The user's cache; None if it is disabled (:func:`undwarf.disk_cache.cache_directory`)."""
        directory = cache_directory("tables")
        return cls(directory, limits, defects) if directory is not None else None

    # -- reading --------------------------------------------------------------------------------------------------

    def load(self, key: Key, rules: RuleSet) -> StoredTable | None:
        """The table of a binary, its rules added to ``rules``; None if there is none that can be used."""
        found = None
        data = self._files.read(key.name)
        if data is not None:
            found = read(data, rules, key)
            if found is None and not _is_undamaged(data):
                self.damaged += 1
                self.defects.add("damaged file in the cache of unwind tables", str(self.directory / key.name))
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._files.touch(key.name)
        return found

    # -- writing --------------------------------------------------------------------------------------------------

    def save(
        self, key: Key, columns: tuple[memoryview, memoryview], rules: RuleSet, debug_mark: bytes = NOT_ASKED
    ) -> bool:
        """Write columns of rows whose numbers are those of ``rules``; whether that succeeded."""
        data = write(columns, rules, key, debug_mark)
        if data is None or not self._files.write(key.name, data):
            return False
        self.written += 1
        return True

    # -- housekeeping ---------------------------------------------------------------------------------------------

    def usage(self) -> tuple[int, int]:
        """The number of tables, and their bytes."""
        return self._files.usage()

    def trim(self) -> int:
        """Remove the tables used least recently until the others keep to the limit; how many files were removed."""
        return self._files.trim()

    def clear(self) -> int:
        """Remove all tables; how many there were."""
        return self._files.clear()

    def entries(self) -> list[Entry]:
        """The tables, those used last first."""
        found = []
        for used, size, path in reversed(self._files.files()):
            if path.name.startswith("."):
                continue
            data = self._files.read(path.name)
            about = _about(data) if data is not None else None
            found.append(
                Entry(path.name, about[1], about[0].hex(), about[2], about[3], size, used)
                if about is not None
                else Entry(path.name, "", "", 0, 0, size, used)
            )
        return found


def _other_version(data: memoryview) -> bool:
    """Whether a file may be of another version of undwarf."""
    if len(data) < _PREFIX.size:
        return False
    magic, _size, version, *_rest = _PREFIX.unpack_from(data)
    return bool(magic == MAGIC and version != VERSION)


def _is_undamaged(data: memoryview) -> bool:
    """Whether a file is undamaged: for another version or build of undwarf, or for another binary."""
    if _other_version(data):
        return True
    if len(data) < _PREFIX.size:
        return False
    magic, size, _version, _header, digest = _PREFIX.unpack_from(data)
    return bool(magic == MAGIC and size == len(data) and digest == _digest(data[_PREFIX.size :]))


def _digest(body: "memoryview | bytes") -> bytes:
    return blake2b(body, digest_size=16).digest()


def _about(data: memoryview) -> tuple[bytes, str, int, int] | None:
    """Build-id and path of the binary that a file is about, its rows and rules."""
    if len(data) < _PREFIX.size + _HEAD.size or bytes(data[:8]) != MAGIC or _other_version(data):
        return None
    numbers = _HEAD.unpack_from(data, _PREFIX.size)
    at, middle = _PREFIX.size + _HEAD.size, _PREFIX.size + _HEAD.size + numbers[10]
    path = bytes(data[middle : middle + numbers[11]])
    return bytes(data[at:middle]), os.fsdecode(path), numbers[3], numbers[6]


def bytes_of(table: UnwindTable, elf: ElfFile) -> int | None:
    """The size of a whole table on disk; None if it cannot be cached."""
    key = Key("", elf.build_id, bytes(16), REGISTERS.get(elf.machine, 0), elf.path)
    data = write(table.functions.all_columns(), table.rules, key)
    return len(data) if data is not None else None


def write(
    columns: tuple[memoryview, memoryview], rules: RuleSet, key: Key, debug_mark: bytes = NOT_ASKED
) -> bytes | None:
    """The bytes of a file with these columns; None for a table that the format cannot hold."""
    addresses, rows = columns
    # Rules used most get the shortest numbers.
    ranked = packed_rows.ranked(rows, len(rules))
    if ranked is None or len(ranked) > _MOST_RULES or rules.refused:
        return None
    order, numbers = zeros("I", len(ranked)), zeros("I", len(rules))
    for i, rule in enumerate(ranked):
        order[i], numbers[rule] = rule, i + 2
    packed = packed_rows.pack_rows(addresses, rows, numbers)
    if packed is None:
        return None
    index, data = packed
    rule_bytes, used = packed_rules.pack_rules(rules.states, order, len(rules.expressions))
    codes = [rules.expressions[i] for i in used]
    lengths = b"".join(len(code).to_bytes(4, "little") for code in codes)
    expressions = b"".join(codes)
    name = os.fsencode(key.path)[:4096]
    strings = key.build_id + name
    strings += bytes(-len(strings) % 8)
    head = _HEAD.pack(
        key.mark,
        debug_mark,
        addresses[0],
        len(addresses),
        len(index) // 2,
        len(data),
        len(ranked),
        len(rule_bytes),
        len(codes),
        len(expressions),
        len(key.build_id),
        len(name),
    )
    body = b"".join((head, strings, index, data, rule_bytes, lengths, expressions))
    return _PREFIX.pack(MAGIC, _PREFIX.size + len(body), VERSION, _HEAD.size + len(strings), _digest(body)) + body


def read(data: memoryview, rules: RuleSet, key: Key) -> StoredTable | None:
    """The contents of a file, its rules added to ``rules``; None unless it is complete, of this version, and of the
    binary."""
    if len(data) < _PREFIX.size + _HEAD.size:
        return None
    magic, size, version, header, digest = _PREFIX.unpack_from(data)
    if magic != MAGIC or version != VERSION or size != len(data):
        return None
    body = data[_PREFIX.size :]
    (
        mark, debug_mark, first, rows, blocks, data_size, count, rule_size, expressions, expression_size, id_size,
        path_size,
    ) = _HEAD.unpack_from(body)  # fmt: skip  # rows of fields
    sizes = (header, 8 * blocks, data_size, rule_size, 4 * expressions, expression_size)
    if (
        mark != key.mark
        or sum(sizes) != len(body)
        or header - _HEAD.size != (id_size + path_size + 7) // 8 * 8
        or body[_HEAD.size : _HEAD.size + id_size] != key.build_id
        or not 0 < rows <= len(body)
        or first
        or count > _MOST_RULES
        or _digest(body) != digest
    ):
        return None
    parts = []
    at = 0
    for part in sizes:
        parts.append(body[at : at + part])
        at += part
    index, row_data, rule_data, lengths, codes = parts[1:]
    numbers = zeros("I", expressions)
    at = 0
    for i, length in enumerate(struct.unpack(f"<{expressions}I", lengths)):
        number = rules.expressions.add(bytes(codes[at : at + length])) if length <= len(codes) - at else -1
        if number < 0:
            return None
        numbers[i] = number
        at += length
    states = packed_rules.unpack_rules(rule_data, count, key.registers, numbers)
    if states is None or at != len(codes):
        return None
    try:
        return StoredTable(
            packed_rows.PackedRows(index.cast("I"), row_data, rules.take(states), first, rows), debug_mark
        )
    except ValueError:
        return None
