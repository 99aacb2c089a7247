# cython: language_level=3, annotation_typing=False
"""DWARF type entries as records of the type graph, decoded on demand.

Source: DWARF 5, chapter 5 (types), 3.3 (parameters), 7.3.3 (type units). In DWARF 2 and 3, DW_AT_bit_offset of a bit
field counts from the most significant bit of the storage unit.
"""

from bisect import bisect_left

import cython
from cython.cimports.undwarf.dwarf import operations, tags

from undwarf.dwarf.die import Entry
from undwarf.dwarf.type_sizes import members_hash
from undwarf.dwarf.value_classes import ValueClass
from undwarf.types.layouts.type_graph import DISCRIMINANT, VOID, Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.dwarf_entries import (
    ABSTRACT_ORIGIN,
    ARTIFICIAL,
    BIT_OFFSET,
    BIT_SIZE,
    BYTE_SIZE,
    CALLING_CONVENTION,
    CONST_VALUE,
    COUNT,
    DATA_BIT_OFFSET,
    DATA_MEMBER_LOCATION,
    DECLARATION,
    ENCODING,
    EXTERNAL,
    LOWER_BOUND,
    NAME,
    SIGNATURE,
    SPECIFICATION,
    TAG_PACK,
    TYPE,
    UPPER_BOUND,
    Space,
    Spaces,
    tags_of,
)
from undwarf.types.sources.dwarf_numbers import Reader
from undwarf.types.sources.template_names import TAG_TYPE_PARAMETER, TemplateNames
from undwarf.types.sources.type_definitions import Definitions

_THROUGH = {
    tags.TYPEDEF: Kind.TYPEDEF, tags.TEMPLATE_ALIAS: Kind.TYPEDEF, tags.SUBRANGE_TYPE: Kind.TYPEDEF,
    tags.CONST_TYPE: Kind.CONST, tags.IMMUTABLE_TYPE: Kind.CONST, tags.VOLATILE_TYPE: Kind.VOLATILE,
    tags.RESTRICT_TYPE: Kind.RESTRICT, tags.ATOMIC_TYPE: Kind.ATOMIC, tags.PACKED_TYPE: Kind.TAG,
    tags.SHARED_TYPE: Kind.TAG, tags.DYNAMIC_TYPE: Kind.TAG,
}  # fmt: skip  # a table
_AGGREGATES = {
    tags.STRUCTURE_TYPE: (Kind.STRUCT, "struct"),
    tags.CLASS_TYPE: (Kind.CLASS, "class"),
    tags.UNION_TYPE: (Kind.UNION, "union"),
    tags.INTERFACE_TYPE: (Kind.CLASS, "class"),
}
_BASES = {0x02: Kind.BOOL, 0x04: Kind.FLOAT, 0x03: Kind.FLOAT, 0x06: Kind.CHAR, 0x08: Kind.CHAR, 0x10: Kind.CHAR}
_SIGNED_ENCODINGS = frozenset((0x05, 0x06, 0x0D))

C_LANGUAGES = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E, 0x10, 0x8001))
"""DW_LANG_* of C, whose types have no namespaces."""
_CXX = frozenset((0x04, 0x1A, 0x21, 0x2B, 0x3A, 0x11))
"""DW_LANG_* of C++; as in C, type names have the keyword ``struct``."""
_SPOKEN_OF, _PARAMETERS = (
    tags_of(tags.TYPEDEF, TAG_TYPE_PARAMETER),
    tags_of(tags.FORMAL_PARAMETER, tags.UNSPECIFIED_PARAMETERS, into=(TAG_PACK,)),
)
_INHERITANCE = tags_of(tags.INHERITANCE)
_TYPE_PARAMETERS, _MEMBER = tags_of(TAG_TYPE_PARAMETER), tags_of(tags.MEMBER)
_MEMBERS, _VARIANTS = tags_of(tags.MEMBER, tags.INHERITANCE, tags.VARIANT_PART), tags_of(tags.VARIANT, tags.MEMBER)
_DIMENSIONS = tags_of(tags.SUBRANGE_TYPE, tags.ENUMERATION_TYPE)
_PASS_BY_REFERENCE = 4
_BLOCK = int(ValueClass.BLOCK)
# tuple.__new__ is faster than the named tuple's constructor; there are tens of thousands of members.
_as_it_is = tuple.__new__
_TO_TABLE = bytes((operations.DUP, operations.DEREF))
_FROM_TABLE = bytes((operations.MINUS, operations.DEREF, operations.PLUS))
_BUFFERS = ("__aligned_membuf<", "__aligned_buffer<")
"""Templates of libstdc++ that store an object of their type parameter as bytes."""


@cython.final
@cython.cclass
class DwarfTypes:
    """The types of one binary in a :class:`TypeGraph`; :meth:`of` gives the id of the type that an entry refers to."""

    spaces = cython.declare(object, visibility="readonly")
    graph = cython.declare(object, visibility="readonly")
    _places = cython.declare(list)
    _given = cython.declare(list)
    _languages = cython.declare(dict)
    _leading = cython.declare(dict)
    _definitions = cython.declare(object)
    _main = cython.declare(object)
    _templates = cython.declare(object)

    def __init__(self, spaces: Spaces, graph: TypeGraph) -> None:
        self.spaces = spaces
        self.graph = graph
        self._places = []
        self._given = []
        self._languages = {}
        self._leading = {}
        self._definitions = Definitions(spaces, self._called)
        self._main = None
        self._templates = TemplateNames(graph, self.of)
        spaces.whole_name = self._whole_name

    # Numbers -----------------------------------------------------------------------------------------------

    @cython.ccall
    @cython.locals(at=cython.longlong)
    def of(self, entry: Entry) -> int:
        """The type of an entry (DW_AT_type), also by its specification or origin; void if it has none."""
        for _hop in range(8):
            at = entry.target(TYPE)
            if at >= 0:
                return self.number(entry.space, at)
            if at < -1:
                other = entry.reference(TYPE)
                if other is None:
                    self.graph.defects.add("dangling type reference", self.graph.subject)
                    return VOID
                return self.number(other.space, other.offset)
            further = entry.reference(ABSTRACT_ORIGIN) or entry.reference(SPECIFICATION)
            if further is None:
                return VOID
            entry = further
        return VOID

    @cython.ccall
    @cython.locals(numbers=dict, given=list)
    def number(self, space: Space, offset: int) -> int:
        """The id of the type with an entry at an offset; its record is decoded later."""
        numbers = space.numbers
        found = numbers.get(offset)
        if found is None:
            given = self._given
            self._places.append((space, offset))
            found = numbers[offset] = self.graph.reserve(self, len(self._places) - 1)
            # Ascending, since ids are; past the limit of types all are void.
            given.append(found or (given[len(given) - 1] if given else 0))
        return found

    def place(self, t: int) -> "tuple[Space, int] | None":
        """(space, offset) of a type's entry; None for types without one."""
        at = bisect_left(self._given, t)
        return self._places[at] if t and at < len(self._given) and self._given[at] == t else None

    def mentioned_types(self, t: int) -> list[int]:
        """Types named inside a class: its typedefs and template parameters."""
        if t and self.graph.kind(t) == Kind.TAG:
            # A declaration; the type unit has the definition.
            t = self.graph.strip(t)
        at = bisect_left(self._given, t)
        if not t or at >= len(self._given) or self._given[at] != t:
            return []
        space, offset = self._places[at]
        entry = space.entry(offset)
        if entry is None or entry.tag not in _AGGREGATES:
            return []
        return [self.of(child) for child in space.children(entry, _SPOKEN_OF)]

    @cython.ccall
    @cython.returns(cython.bint)
    @cython.exceptval(-1)
    @cython.locals(found=object)
    def is_pointer_or_aggregate(self, t: int) -> bool:
        """Whether a value of a type in a register is evidence for what is in memory: pointers and aggregates, not
        scalars."""
        found = self._leading.get(t)
        if found is None:
            found = self._leading[t] = self.graph.is_pointer(t) or not self.graph.is_scalar(t)
        return bool(found)

    def is_pointer_to_object(self, t: int) -> bool:
        """Whether a type is a pointer to an aggregate."""
        return bool(self.graph.is_pointer(t) and self.graph.is_aggregate(self.graph.target(t)))

    def type_parameters(self, entry: Entry) -> list[int]:
        """Template type parameters of a function, from its entry or the origin or specification of it."""
        found: list[int] = []
        for _hop in range(8):
            found = [self.of(child) for child in entry.space.children(entry, _TYPE_PARAMETERS)]
            further = entry.reference(ABSTRACT_ORIGIN) or entry.reference(SPECIFICATION)
            if found or further is None:
                break
            entry = further
        return found

    def language(self, entry: Entry) -> int:
        """DW_LANG_* of an entry's unit."""
        key = (entry.space.number, entry.unit)
        found: int | None = self._languages.get(key)
        if found is None:
            # dwz's partial units have no language: assume the program's.
            found = self._languages[key] = entry.space.language(entry.unit) or self._main_language
        return found

    @property
    def _main_language(self) -> int:
        if self._main is None:
            space = self.spaces.main
            self._main = next((one for one in map(space.language, range(min(space.info.units.count, 100))) if one), 0)
        found: int = self._main
        return found

    # Records -----------------------------------------------------------------------------------------------

    def load(self, key: int) -> TypeRecord | None:
        """The record of the type with a key of :meth:`number`."""
        space, offset = self._places[key]
        entry = space.entry(offset)
        if entry is None or entry.tag == 0:
            return None
        tag = entry.tag
        name = entry.string(NAME)
        if tag in _THROUGH:
            if tag == tags.TYPEDEF:
                name = self._full_name(entry, name)
            return TypeRecord(_THROUGH[tag], name, target=self.of(entry))
        if tag in (tags.POINTER_TYPE, tags.REFERENCE_TYPE, tags.RVALUE_REFERENCE_TYPE):
            size = _size(entry)
            size = size if size > 0 else space.columns["address_size"][entry.unit]
            if tag == tags.POINTER_TYPE:
                return TypeRecord(Kind.POINTER, name, size, self.of(entry))
            return TypeRecord(Kind.REFERENCE, "&&" if tag == tags.RVALUE_REFERENCE_TYPE else "&", size, self.of(entry))
        if tag == tags.BASE_TYPE:
            encoding = entry.number(ENCODING) or 0
            kind = _BASES.get(encoding, Kind.INT)
            return TypeRecord(kind, name, _size(entry), signed=encoding in _SIGNED_ENCODINGS)
        if tag in _AGGREGATES:
            return self._aggregate(entry, name)
        if tag == tags.ARRAY_TYPE:
            return self._array(entry)
        if tag == tags.ENUMERATION_TYPE:
            return self._enumeration(entry, name)
        if tag in (tags.SUBROUTINE_TYPE, tags.SUBPROGRAM):
            parameters, variadic = self.parameters(entry)
            return TypeRecord(Kind.FUNCTION, name, target=self.of(entry), parameters=parameters, variadic=variadic)
        return TypeRecord(Kind.OTHER, name, _size(entry))

    def parameters(self, entry: Entry) -> "tuple[tuple[tuple[str, int], ...], bool]":
        """((name, type) of a function's parameters, whether it is variadic)."""
        found: list[tuple[str, int]] = []
        variadic = False
        for child in entry.space.children(entry, _PARAMETERS)[: self.graph.limits.type_members]:
            # The parameters of a pack are children of an entry of their own.
            if child.tag == tags.FORMAL_PARAMETER:
                found.append((child.string(NAME), self.of(child)))
            elif child.tag == tags.UNSPECIFIED_PARAMETERS:
                variadic = True
        return tuple(found), variadic

    def _full_name(self, entry: Entry, name: str) -> str:
        if not name or self.language(entry) in C_LANGUAGES:
            return name
        full: str = entry.space.qualified(entry.unit, entry.offset, name)
        return full

    def _whole_name(self, entry: Entry, name: str) -> str:
        whole: str = self._templates.whole(entry, name) if self.language(entry) in _CXX else name
        return whole

    def _called(self, entry: Entry, written: str) -> str:
        """The qualified name of a type with template arguments, from the name in its definition."""
        return self._full_name(entry.reference(SPECIFICATION) or entry, self._whole_name(entry, written))

    def _keyword(self, entry: Entry, keyword: str) -> str:
        language = self.language(entry)
        return keyword if language in C_LANGUAGES or language in _CXX else ""

    def _defined_elsewhere(self, entry: Entry, name: str, full: str) -> int:
        """The definition of a declared type; void if it is not found."""
        by_signature = entry.reference(SIGNATURE)
        if by_signature is not None:
            return self.number(by_signature.space, by_signature.offset)
        found = self._definitions.of(entry, name, full)
        return self.number(*found) if found is not None else VOID

    def named(self, name: str) -> int:
        """A type by its name, qualified or not; void if there is none. See :meth:`Definitions.named`."""
        found = self._definitions.named(name)
        return self.number(*found) if found is not None else VOID

    def captured(self, name: str) -> int:
        """The environment type of a Rust closure; void if no unit has it. See :meth:`Definitions.captured`."""
        found = self._definitions.captured(name)
        return self.number(*found) if found is not None else VOID

    def _enumeration(self, entry: Entry, name: str) -> TypeRecord:
        named = entry
        further = entry.reference(SPECIFICATION)
        if further is not None:
            named, name = further, name or further.string(NAME)
        keyword = self._keyword(entry, "enum") if name else ""
        full = self._full_name(named, name or entry.space.given_name(entry.unit, entry.offset))
        size = _size(entry)
        if size < 0 and not entry.flag(DECLARATION):
            size = self.graph.size(self.of(entry))
        if (entry.flag(DECLARATION) and size <= 0) or entry.kind(SIGNATURE):
            whole = self._defined_elsewhere(entry, name, full)
            if whole:
                return TypeRecord(Kind.TAG, target=whole)
        if not full:
            keyword = self._keyword(entry, "enum")
        return TypeRecord(Kind.ENUM, full, size, keyword=keyword)

    def _aggregate(self, entry: Entry, name: str) -> TypeRecord:
        kind, keyword = _AGGREGATES[entry.tag]
        named = entry
        further = entry.reference(SPECIFICATION)
        if further is not None:
            # The declaration has the scope, this entry is its definition.
            named, name = further, name or further.string(NAME)
        language = self.language(entry)
        if language in _CXX:
            name = self._templates.whole(entry, name)
        given = "" if name else entry.space.given_name(entry.unit, entry.offset)
        full = self._full_name(named, name or given)
        if entry.flag(DECLARATION) or entry.kind(SIGNATURE):
            whole = self._defined_elsewhere(entry, name, full)
            if whole:
                return TypeRecord(Kind.TAG, target=whole)
            dynamic = language in _CXX and entry.tag != tags.UNION_TYPE
            return TypeRecord(Kind.FORWARD, full, keyword=self._keyword(entry, keyword), dynamic=dynamic)
        if language in C_LANGUAGES or (language in _CXX and not name.startswith(_BUFFERS)):
            unread = _Unread(self, entry, shaped=language in C_LANGUAGES)
            return TypeRecord(
                kind,
                full,
                max(_size(entry), -1),
                keyword="" if given else keyword,
                by_reference=entry.number(CALLING_CONVENTION) == _PASS_BY_REFERENCE,
                virtual_bases=self._virtual_bases(entry),
                unread=unread,
            )
        members, variants = self.members(entry)
        if name.startswith(_BUFFERS) and len([one for one in members if not one.base]) == 1:
            held = self._first_parameter(entry)
            storage = next(k for k, one in enumerate(members) if not one.base)
            if held and 0 < self.graph.size(held) <= self.graph.size(members[storage].type):
                members[storage] = members[storage]._replace(type=held, size=-1)
        holds = self._first_parameter(entry) if name.startswith("RawVec<") else VOID
        return TypeRecord(
            Kind.VARIANT if variants else kind,
            full,
            max(_size(entry), -1),
            members=tuple(members),
            keyword="" if given else self._keyword(entry, keyword),
            by_reference=entry.number(CALLING_CONVENTION) == _PASS_BY_REFERENCE,
            virtual_bases=self._virtual_bases(entry),
            holds=holds,
        )

    def _virtual_bases(self, entry: Entry) -> tuple[tuple[int, int], ...]:
        """(offset in the vtable, type) of bases whose offset is stored in the vtable."""
        if self.language(entry) not in _CXX:
            return ()
        found = []
        for child in entry.space.children(entry, _INHERITANCE)[: self.graph.limits.type_members]:
            if child.kind(DATA_MEMBER_LOCATION) == _BLOCK:
                slot = _table_slot(child.block(DATA_MEMBER_LOCATION))
                if slot is not None:
                    found.append((slot, self.of(child)))
        return tuple(found)

    def _first_parameter(self, entry: Entry) -> int:
        """The first template type parameter."""
        for child in entry.space.children(entry, _TYPE_PARAMETERS):
            return self.of(child)
        return VOID

    @cython.locals(numbers=dict)
    def members(self, entry: Entry) -> tuple[list[Member], bool]:
        """(members of an aggregate, whether some belong to variants of a tagged union)."""
        found: list[Member] = []
        variants = False
        space = entry.space
        numbers = space.numbers
        children = space.members(entry, _MEMBERS)
        if len(children) > self.graph.limits.type_members:
            self.graph.defects.add("too many members", self.graph.subject)
            del children[self.graph.limits.type_members :]
        for child in children:
            if isinstance(child, tuple):
                name, at, size, place = child
                t = numbers.get(place)
                if t is None:
                    t = self.number(space, place)
                found.append(_as_it_is(Member, (name, at, size, 8 * at, 0, t, False)))
            elif child.tag in (tags.MEMBER, tags.INHERITANCE):
                member = self._member(child)
                if member is not None:
                    found.append(member)
            else:
                variants = True
                for part in child.space.children(child, _VARIANTS)[: self.graph.limits.type_members]:
                    of_part = child.space.children(part, _MEMBER) if part.tag == tags.VARIANT else [part]
                    for one in of_part[: self.graph.limits.type_members]:
                        member = self._member(one)
                        if member is not None:
                            name = member.name or (DISCRIMINANT if one.flag(ARTIFICIAL) else "")
                            found.append(member._replace(name=name))
        return found, variants

    @cython.ccall
    @cython.locals(inherited=cython.bint, location=cython.int)
    def _member(self, entry: Entry) -> Member | None:
        inherited = entry.tag == tags.INHERITANCE
        location = entry.kind(DATA_MEMBER_LOCATION)
        bits = entry.number(DATA_BIT_OFFSET)
        if (
            location == 0
            and bits is None
            and not inherited
            and (entry.flag(EXTERNAL) or entry.flag(DECLARATION) or entry.kind(CONST_VALUE))
        ):
            # A static member is a variable of its own.
            return None
        at = 0
        if location == _BLOCK:
            place = _constant_place(entry.block(DATA_MEMBER_LOCATION))
            if place is None:
                # The offset of a virtual base is only in the object.
                return None
            at = place
        elif location:
            at = entry.number(DATA_MEMBER_LOCATION) or 0
        if at < 0:
            return None
        t = self.of(entry)
        name = "" if inherited else entry.string(NAME)
        width = entry.number(BIT_SIZE) or 0
        if width <= 0:
            # The size comes from the entry, without decoding the type: most members' types are never needed.
            return _as_it_is(Member, (name, at, entry.size_of_type(), 8 * at, 0, t, inherited))
        if bits is None:
            old = entry.number(BIT_OFFSET)
            storage = entry.number(BYTE_SIZE) or self.graph.size(t)
            bits = 8 * at
            if old is not None:
                bits += old if entry.space.file.big else 8 * storage - old - width
        else:
            bits += 8 * at
        if bits < 0:
            return None
        return Member(name, bits // 8, -1, bits, width, t)

    def _array(self, entry: Entry) -> TypeRecord:
        counts = [_count(child) for child in entry.space.children(entry, _DIMENSIONS)[:64]]
        target = self.of(entry)
        for count in reversed(counts[1:]):
            target = self.graph.add(TypeRecord(Kind.ARRAY, target=target, count=count))
        size = _size(entry)
        return TypeRecord(
            Kind.ARRAY, size=size if len(counts) < 2 else -1, target=target, count=counts[0] if counts else -1
        )


@cython.final
@cython.cclass
class _Unread:
    """The members of a C or C++ aggregate, not read yet. ``shaped``: :meth:`shape` is available (C only)."""

    _types = cython.declare(DwarfTypes)
    _entry = cython.declare(object)
    _shaped = cython.declare(cython.bint)

    def __init__(self, types: DwarfTypes, entry: Entry, *, shaped: bool) -> None:
        self._types = types
        self._entry = entry
        self._shaped = shaped

    def members(self) -> tuple[Member, ...]:
        """The members as in :class:`TypeRecord`."""
        found, _variants = self._types.members(self._entry)
        return tuple(found)

    def shape(self) -> int:
        """A hash of the members of a C type, to compare types without reading them; 0 if unknown."""
        entry = self._entry
        if not self._shaped or not entry.has_children:
            return 0
        limit = self._types.graph.limits.type_members
        return members_hash(entry.space.info.cursor, entry.unit, entry.end, _MEMBERS, limit)


def _size(entry: Entry) -> int:
    size = entry.number(BYTE_SIZE)
    if size is None:
        bits = entry.number(BIT_SIZE)
        return (bits + 7) // 8 if bits is not None and bits >= 0 else -1
    return size if size >= 0 else -1


def _count(subrange: Entry) -> int:
    """Number of elements of a dimension; -1 if it is open or only known at run time."""
    count = subrange.number(COUNT)
    if count is not None:
        return count if 0 <= count < 1 << 62 else -1
    upper = subrange.number(UPPER_BOUND)
    if upper is None:
        return -1
    size = subrange.size(UPPER_BOUND)
    if size >= 4 and upper == (1 << 8 * size) - 1:
        # -1 in an unsigned form: no elements.
        return 0
    count = upper - (subrange.number(LOWER_BOUND) or 0) + 1
    return count if 0 <= count < 1 << 62 else -1


@cython.cfunc
@cython.locals(reader=Reader, op=cython.int, value=object)
def _constant_place(block: memoryview | None) -> int | None:
    """The offset of an expression that only adds a constant to the object's address; None for others."""
    if not block:
        return None
    reader = Reader(block, "little")
    op = reader.fixed(1)
    value = reader.uleb()
    adds = op == operations.PLUS_UCONST or (op == operations.CONSTU and reader.fixed(1) == operations.PLUS)
    return value if adds and not reader.short and not reader.more() else None


@cython.cfunc
@cython.locals(reader=Reader, op=cython.int, value=object)
def _table_slot(block: memoryview | None) -> int | None:
    """The vtable offset from which an expression reads a virtual base's offset; None for other expressions.

    DW_OP_dup, deref, a constant, minus, deref, plus: in the Itanium C++ ABI (2.5.2) these offsets precede the address
    that the object's vtable pointer holds.
    """
    raw = bytes(block or b"")
    if raw[:2] != _TO_TABLE or raw[-3:] != _FROM_TABLE:
        return None
    reader = Reader(raw[2:-3], "little")
    op = reader.fixed(1)
    if operations.LIT0 <= op <= operations.LIT31:
        value = op - operations.LIT0
    elif op == operations.CONST1U:
        value = reader.fixed(1)
    elif op == operations.CONSTU:
        value = reader.uleb()
    else:
        return None
    return None if reader.short or reader.more() else -value
