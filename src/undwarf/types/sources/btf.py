"""BTF: the types, functions and variables of a kernel, a kernel module or a program.

Source: Documentation/bpf/btf.rst and include/uapi/linux/btf.h of Linux. The type section is an array of 32-bit words. A
split BTF file (a module's) continues the type numbers and string offsets of its base file.
"""

import sys
from array import array
from functools import cached_property

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.limits import DEFAULT, Limits
from undwarf.types.layouts.type_graph import VOID, Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.btf_index import CUT, TOO_MANY, UNKNOWN_KIND, find_named, index_types

MAGIC = 0xEB9F
_HEADER = 24

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT = (
    range(1, 17)
)
DECL_TAG, TYPE_TAG, ENUM64 = 17, 18, 19

_THROUGH = {
    TYPEDEF: Kind.TYPEDEF, VOLATILE: Kind.VOLATILE, CONST: Kind.CONST, RESTRICT: Kind.RESTRICT, TYPE_TAG: Kind.TAG,
}  # fmt: skip  # a table
_KINDS = {
    **{number: (kind,) for number, kind in _THROUGH.items()},
    PTR: (Kind.POINTER,), STRUCT: (Kind.STRUCT,), UNION: (Kind.UNION,), INT: (Kind.INT, Kind.CHAR, Kind.BOOL),
    FLOAT: (Kind.FLOAT,), ARRAY: (Kind.ARRAY,), ENUM: (Kind.ENUM,), ENUM64: (Kind.ENUM,),
    FWD: (Kind.FORWARD, Kind.TAG), FUNC_PROTO: (Kind.FUNCTION,),
}  # fmt: skip  # a table
"""The kinds of :class:`~undwarf.types.layouts.type_records.Kind` that a BTF kind can become."""
_SIGNED, _CHAR, _BOOL = 1, 2, 4
MAX_NAME = 4096


class BtfFile:
    """One BTF file: where each type record starts, and the string table. ``base`` is the file that a split file
    extends.

    Raises :class:`undwarf.errors.UnreadableInput` if the bytes are no BTF. Damage further in ends the list of types
    there and is counted in ``defects``.
    """

    def __init__(
        self,
        data: "bytes | memoryview",
        name: str = "",
        *,
        base: "BtfFile | None" = None,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        self.name = name
        self.base = base
        self.limits = limits
        self.defects = Defects() if defects is None else defects
        view = memoryview(data)
        if len(view) < _HEADER:
            raise UnreadableInput(f"cannot read {name or 'these bytes'}", "not BTF")
        magic = int.from_bytes(view[:2], "little")
        if magic not in (MAGIC, 0x9FEB):
            raise UnreadableInput(f"cannot read {name or 'these bytes'}", "not BTF")
        order = "little" if magic == MAGIC else "big"
        if view[2] != 1:
            raise UnreadableInput(f"cannot read {name or 'these bytes'}", f"unsupported BTF version {view[2]}")
        self.swapped = order != sys.byteorder
        words = self._words(view[4:_HEADER])
        header, types_at, types_size, strings_at, strings_size = words
        self._types = self._words(self._part(view, header + types_at, types_size, "types"))
        self.strings = bytes(self._part(view, header + strings_at, strings_size, "strings"))
        self.strings_start: int = 0 if base is None else base.strings_start + len(base.strings)
        self.first: int = 1 if base is None else base.first + len(base)
        """Number of the first type in this file; 0 is void in all files."""
        self._starts: memoryview
        self.names: memoryview
        self.kinds: bytes
        self._find_types()

    def __len__(self) -> int:
        return len(self._starts)

    def _words(self, data: memoryview) -> "array[int]":
        words = array("I")
        words.frombytes(data[: len(data) // 4 * 4])
        if self.swapped:
            words.byteswap()
        return words

    def _part(self, view: memoryview, at: int, size: int, what: str) -> memoryview:
        if at > len(view) or size > len(view) - at:
            self.defects.add("truncated BTF", self.name, detail=what)
        return view[at : at + size]

    def _find_types(self) -> None:
        self._starts, self.names, kinds, end, kind = index_types(self._types, max(self.limits.types - 1, 0))
        self.kinds = bytes(kinds)
        if end == UNKNOWN_KIND:
            self.defects.add("unknown BTF kind", self.name, detail=str(kind))
        elif end == CUT:
            self.defects.add("truncated BTF", self.name, detail="a type")
        elif end == TOO_MANY:
            self.defects.add("too many types", self.name)

    def words(self, number: int) -> "tuple[BtfFile, array[int], int] | None":
        """(file, its words, index of the type's first word) of a type number; None for void and unknown numbers."""
        file: BtfFile | None = self
        while file is not None:
            if number >= file.first:
                place = number - file.first
                return (file, file._types, file._starts[place]) if place < len(file._starts) else None
            file = file.base
        return None

    def string(self, at: int) -> str:
        """A string by its offset; the offsets of a split file continue those of its base."""
        file: BtfFile = self
        while at < file.strings_start and file.base is not None:
            file = file.base
        at -= file.strings_start
        end = file.strings.find(b"\0", at, at + MAX_NAME) if at < len(file.strings) else -1
        return file.strings[at:end].decode("utf-8", "backslashreplace") if end >= 0 else ""

    def first_named(self, kind: int, name: str) -> int:
        """The number of this file's first type of a kind and name, 0 if there is none. Decodes no other names."""
        wanted = name.encode()
        places = set()
        at = self.strings.find(wanted + b"\0")
        while at >= 0:
            # Strings may be stored as the tail of others.
            places.add(at + self.strings_start)
            at = self.strings.find(wanted + b"\0", at + 1)
        file = self.base
        if file is not None and wanted:
            at = file.strings.find(wanted + b"\0")
            while at >= 0:
                places.add(at + file.strings_start)
                at = file.strings.find(wanted + b"\0", at + 1)
        found = [at for place in places if (at := find_named(self.names, self.kinds, place, kind)) >= 0]
        return self.first + min(found) if found else 0

    def named(self, kind: int, further: dict[str, list[int]] | None = None) -> dict[str, int]:
        """{name: number} of this file's types of a kind, the first of each name; later ones of a name are added to
        ``further``."""
        found: dict[str, int] = {}
        string, names, first = self.string, self.names, self.first
        at = self.kinds.find(kind)
        while at >= 0:
            name = string(names[at])
            if found.setdefault(name, first + at) != first + at and further is not None:
                further.setdefault(name, []).append(first + at)
            at = self.kinds.find(kind, at + 1)
        found.pop("", None)
        return found


def open_btf(path: str, *, base: "BtfFile | None" = None, limits: Limits = DEFAULT) -> BtfFile:
    """BTF from a file of its own (``/sys/kernel/btf/vmlinux``) or from the `.BTF` section of an ELF file."""
    with open(path, "rb") as file:
        data = file.read(limits.text_map_bytes)
    if data[:4] == b"\x7fELF":
        elf = ElfFile.from_bytes(data, path, limits=limits)
        section = elf.section_data(".BTF")
        if section is None:
            raise UnreadableInput(
                f"cannot read types of {path}",
                "no .BTF section",
                "for the types of a program with DWARF use --binary",
            )
        return BtfFile(bytes(section), path, base=base, limits=limits)
    return BtfFile(data, path, base=base, limits=limits)


class BtfTypes:
    """The types of a BTF file as a lazy :class:`TypeGraph`: type numbers are reserved at once, records are decoded on
    demand."""

    def __init__(self, file: BtfFile, graph: "TypeGraph | None" = None, *, base: "BtfTypes | None" = None) -> None:
        if base is None and file.base is not None:
            base = BtfTypes(file.base, graph)
        self.file = file
        self.base = base
        if graph is None and base is not None:
            graph = base.graph
        if graph is None:
            graph = TypeGraph(limits=file.limits, defects=file.defects, subject=file.name)
        self.graph: TypeGraph = graph
        self.further_functions: dict[str, list[int]] = {}
        self._first = graph.reserve_many(self, len(file))

    def number(self, btf: int) -> int:
        """The graph's id of a BTF type number; void for 0 and unknown numbers."""
        place = btf - self.file.first
        if place < 0:
            return self.base.number(btf) if self.base is not None else VOID
        if place >= len(self.file):
            self.file.defects.add("dangling type reference", self.file.name)
            return VOID
        return self._first + place

    @cached_property
    def structures(self) -> dict[str, int]:
        """BTF numbers of structures by name."""
        return self.file.named(STRUCT)

    @cached_property
    def unions(self) -> dict[str, int]:
        """BTF numbers of unions by name."""
        return self.file.named(UNION)

    @cached_property
    def functions(self) -> dict[str, int]:
        """BTF numbers of functions by name, the first of each; `further_functions` then has the others of a name."""
        return self.file.named(FUNC, self.further_functions)

    @cached_property
    def variables(self) -> dict[str, int]:
        """BTF numbers of variables by name."""
        return self.file.named(VAR)

    def named(self, name: str) -> int:
        """The graph's id of the structure, union, enumeration or typedef with a name, in this file or its bases; void
        if none."""
        types: BtfTypes | None = self
        while types is not None:
            for kind in (STRUCT, UNION, ENUM, ENUM64, TYPEDEF):
                found = types.file.first_named(kind, name)
                if found:
                    return types.number(found)
            types = types.base
        return VOID

    def sections(self) -> dict[str, list[tuple[str, int, int, int]]]:
        """{section: [(name, type, offset, size)]} of the variables that DATASEC records place in sections."""
        found: dict[str, list[tuple[str, int, int, int]]] = {}
        for name, number in self.file.named(DATASEC).items():
            place = self.file.words(number)
            if place is None:
                continue
            _file, words, at = place
            rows = found.setdefault(name, [])
            for k in range(at + 3, at + 3 + 3 * (words[at + 1] & 0xFFFF), 3):
                variable = self.variable(words[k])
                if variable is not None:
                    rows.append((*variable, words[k + 1], words[k + 2]))
        return found

    def variable(self, btf: int) -> "tuple[str, int] | None":
        """(name, type) of a VAR record; None for other kinds."""
        place = self.file.words(btf)
        if place is None:
            return None
        file, words, at = place
        if words[at + 1] >> 24 & 0x1F != VAR:
            return None
        return file.string(words[at]), self.number(words[at + 2])

    def prototype(self, btf: int) -> int:
        """The graph's id of a FUNC's prototype; void for other kinds."""
        place = self.file.words(btf)
        if place is None or place[1][place[2] + 1] >> 24 & 0x1F != FUNC:
            return VOID
        return self.number(place[1][place[2] + 2])

    def keys(self, kinds: frozenset[Kind]) -> list[int]:
        """Indices of this file's types of the given kinds, ascending."""
        found: list[int] = []
        for number, each in _KINDS.items():
            if kinds.isdisjoint(each):
                continue
            at = self.file.kinds.find(number)
            while at >= 0:
                if len(each) == 1 or self.graph.kind(self._first + at) in kinds:
                    found.append(at)
                at = self.file.kinds.find(number, at + 1)
        return sorted(found)

    def load(self, key: int) -> TypeRecord | None:
        """The record of the type with an index in this file."""
        file = self.file
        found = file.words(file.first + key)
        if found is None:
            return None
        _file, words, at = found
        name = file.string(words[at]) if words[at] else ""
        info, value = words[at + 1], words[at + 2]
        kind, flag, count = info >> 24 & 0x1F, info >> 31, info & 0xFFFF
        if count > self.graph.limits.type_members:
            self.graph.defects.add("too many members", self.graph.subject)
            count = self.graph.limits.type_members
        if kind in _THROUGH:
            return TypeRecord(_THROUGH[kind], name, target=self.number(value))
        if kind == PTR:
            return TypeRecord(Kind.POINTER, size=self.graph.pointer_size, target=self.number(value))
        if kind in (STRUCT, UNION):
            keyword = "struct" if kind == STRUCT else "union"
            members = tuple(self._member(words, k, flag) for k in range(at + 3, at + 3 + 3 * count, 3))
            return TypeRecord(
                Kind.STRUCT if kind == STRUCT else Kind.UNION, name, value, members=members, keyword=keyword
            )
        if kind == INT:
            encoding = words[at + 3] >> 24 & 0xF
            what = Kind.BOOL if encoding & _BOOL else Kind.CHAR if encoding & _CHAR else Kind.INT
            return TypeRecord(what, name, value, signed=bool(encoding & _SIGNED))
        if kind == FLOAT:
            return TypeRecord(Kind.FLOAT, name, value)
        if kind == ARRAY:
            return TypeRecord(Kind.ARRAY, target=self.number(words[at + 3]), count=words[at + 5])
        if kind in (ENUM, ENUM64):
            return TypeRecord(Kind.ENUM, name, value, keyword="enum", signed=bool(flag))
        if kind == FWD:
            whole = self._definition(name, is_union=bool(flag))
            if whole:
                return TypeRecord(Kind.TAG, target=whole)
            return TypeRecord(Kind.FORWARD, name, keyword="union" if flag else "struct")
        if kind == FUNC_PROTO:
            rows = [(words[k], words[k + 1]) for k in range(at + 3, at + 3 + 2 * count, 2)]
            variadic = bool(rows) and rows[-1] == (0, 0)
            parameters = tuple((file.string(text), self.number(of)) for text, of in (rows[:-1] if variadic else rows))
            return TypeRecord(Kind.FUNCTION, target=self.number(value), parameters=parameters, variadic=variadic)
        return None

    def _definition(self, name: str, *, is_union: bool) -> int:
        types: BtfTypes | None = self
        while types is not None and name:
            number = (types.unions if is_union else types.structures).get(name)
            if number is not None:
                return types.number(number)
            types = types.base
        return VOID

    def _member(self, words: "array[int]", at: int, flag: int) -> Member:
        bits, width = words[at + 2], 0
        if flag:
            bits, width = bits & 0xFFFFFF, bits >> 24
        else:
            width = self._old_bit_field(words[at + 1])
            bits += self._old_bit_offset(words[at + 1]) if width else 0
        return Member(self.file.string(words[at]), bits // 8, -1, bits, width, self.number(words[at + 1]))

    def _integer(self, btf: int) -> "tuple[int, int] | None":
        """(size, encoding word) of the integer below typedefs and qualifiers."""
        for _hop in range(self.graph.limits.type_depth):
            place = self.file.words(btf)
            if place is None:
                return None
            _file, words, at = place
            kind = words[at + 1] >> 24 & 0x1F
            if kind == INT:
                return words[at + 2], words[at + 3]
            if kind not in _THROUGH:
                return None
            btf = words[at + 2]
        return None

    def _old_bit_field(self, btf: int) -> int:
        """Width in bits of an integer narrower than its storage: bit fields in files without kind_flag. 0 for other
        types."""
        found = self._integer(btf)
        if found is None:
            return 0
        bits = found[1] & 0xFF
        return bits if 0 < bits < 8 * found[0] else 0

    def _old_bit_offset(self, btf: int) -> int:
        found = self._integer(btf)
        return found[1] >> 16 & 0xFF if found is not None else 0
