"""Types of a binary by pyelftools, so that it can judge: names, what is at a byte, variables and where they are."""

from __future__ import annotations

import bisect
import dataclasses
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.dwarf.dwarf_expr import DWARFExprOp, DWARFExprParser
from elftools.dwarf.locationlists import LocationEntry, LocationParser
from elftools.elf.elffile import ELFFile

TAGS = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "class",
    "DW_TAG_union_type": "union",
    "DW_TAG_enumeration_type": "enum",
}
QUALIFIERS = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_atomic_type")
POINTERS = {"DW_TAG_pointer_type": "*", "DW_TAG_reference_type": "&", "DW_TAG_rvalue_reference_type": "&&"}
MOST = 4096
LENGTH = re.compile(r"; \d+\]")
CONST = re.compile(r"\bconst\b")
CHARACTERS = ("char", "unsigned char", "signed char")
RUST = 0x1C  # DW_LANG_Rust
FIRST_LITERAL = 0x30  # DW_OP_lit0
# Units of Rust's libraries as they come with the compiler, and names it gives to arguments that are there by default.
OF_RUST = ("/rustc/", "/rust/")
BY_DEFAULT = (",alloc::alloc::Global", ",std::hash::random::RandomState")


@dataclass(eq=False)
class Type:
    """A type without its qualifiers: all its names, its size in bytes, and its members."""

    names: list[str]
    size: int
    members: list[tuple[int, int, str, Type]] = field(default_factory=list)  # offset, bytes, name, type
    element: Type | None = None
    virtual: list[tuple[int, Type]] = field(default_factory=list)  # how far before its vtable the offset is, type


@dataclass
class Variable:
    """A variable in memory: of the whole program, or at an offset from its function's frame while in `ranges`.

    Of one that is in pieces, `part` says which of its bytes are there. Others may be in the place of one that is
    `listed`.
    """

    name: str
    type: Type
    base: str  # "address", "cfa", or the register it counts from
    offset: int
    ranges: list[tuple[int, int]]
    depth: int = 0
    part: tuple[int, int] = (0, 1 << 62)
    listed: bool = False


@dataclass
class Function:
    """A function's code and the variables of its frame, those of inlined functions as well.

    That of a class has an `own` type: that of the object it is called for.
    """

    name: str
    start: int
    end: int
    frame_base: str
    variables: list[Variable]
    own: Type | None = None


def only_bytes(kind: Type) -> bool:
    """Whether a type is an array of characters, or a union or structure that starts with one."""
    if kind.element is not None:
        return kind.element.size == 1 and any("char" in name for name in kind.element.names)
    return bool(kind.members) and only_bytes(kind.members[0][3])


class Program:
    """The types and variables of a binary's DWARF; what is not understood is left out, without an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.elf = ELFFile(path.open("rb"))
        self.dwarf = self.elf.get_dwarf_info()
        self._types: dict[int, Type] = {}
        self._resolving: set[int] = set()
        self.globals: list[Variable] = []
        self.functions: list[Function] = []
        self._by_name: dict[str, DIE] = {}
        self._scopes: dict[int, str] = {}
        self._lists = self.dwarf.location_lists()
        self._parser = LocationParser(self._lists)
        self._ranges = self.dwarf.range_lists()
        units = [unit for unit in self.dwarf.iter_CUs() if not text(unit.get_top_DIE()).startswith(OF_RUST)]
        self.in_rust = any(number(unit.get_top_DIE(), "DW_AT_language") == RUST for unit in units)
        for unit in units:
            self._expressions = DWARFExprParser(unit.structs)
            self._index(unit.get_top_DIE(), "")
        for unit in units:
            self._expressions = DWARFExprParser(unit.structs)
            self._walk(unit.get_top_DIE())
        self.functions.sort(key=lambda one: one.start)
        self._starts = [one.start for one in self.functions]

    def function_at(self, address: int) -> Function | None:
        """The function whose code has the address."""
        n = bisect.bisect_right(self._starts, address) - 1
        return self.functions[n] if n >= 0 and address < self.functions[n].end else None

    # Names

    def _index(self, die: DIE, scope: str) -> None:
        for child in die.iter_children():
            name = text(child)
            inner = scope
            if child.tag in TAGS or child.tag in ("DW_TAG_typedef", "DW_TAG_base_type", "DW_TAG_pointer_type"):
                if name:
                    self._scopes[child.offset] = scope + name
                    if "DW_AT_declaration" not in child.attributes:
                        self._by_name.setdefault(squeezed(scope + name), child)
                    inner = scope + name + "::"
                elif child.tag == "DW_TAG_typedef":
                    continue
            elif child.tag == "DW_TAG_namespace":
                inner = scope + (name or "(anonymous namespace)") + "::"
            if child.has_children and child.tag in (
                *TAGS,
                "DW_TAG_namespace",
                "DW_TAG_subprogram",
                "DW_TAG_lexical_block",
            ):
                self._index(child, inner)

    def named(self, spelled: str) -> Type | None:
        """A type as a program names it: `struct node`, `pixel *`, or mangled."""
        spelled = spelled.strip()
        for word in ("const ", "struct ", "class ", "union ", "enum "):
            spelled = spelled.removeprefix(word)
        if spelled.endswith("*"):
            pointee = self.named(spelled[:-1])
            return Type([f"{name}*" for name in pointee.names] if pointee else ["void*"], 8)
        found = self._by_name.get(squeezed(spelled))
        if found is None and spelled == "unsigned":
            return self.named("unsigned int")
        if found is None:
            plain = subprocess.run(
                ["c++filt", "-t", spelled], capture_output=True, text=True, check=True
            ).stdout.strip()
            if plain != spelled:
                return self.named(plain)
            return None
        return self.type(found)

    def type_of(self, die: DIE) -> Type:
        """The type a member, variable or pointer names; void where it names none."""
        if "DW_AT_type" not in die.attributes:
            return Type(["void"], 0)
        return self.type(die.get_DIE_from_attribute("DW_AT_type"))

    def type(self, die: DIE) -> Type:
        """A type by its entry."""
        known = self._types.get(die.offset)
        if known is None:
            if die.offset in self._resolving:
                return Type([self._spelled(die)], 0)
            self._resolving.add(die.offset)
            known = self._types[die.offset] = self._made(die)
            self._resolving.discard(die.offset)
        return known

    def _spelled(self, die: DIE) -> str:
        name = self._scopes.get(die.offset, text(die))
        return f"{TAGS[die.tag]} {name}" if die.tag in TAGS else name

    def _made(self, die: DIE) -> Type:
        size = number(die, "DW_AT_byte_size")
        if die.tag in QUALIFIERS:
            return self.type_of(die)
        if die.tag == "DW_TAG_typedef":
            inner = self.type_of(die)
            # A scalar is known by its kind, everything else by any of its names.
            own = [self._spelled(die)] if inner.members or inner.element or not inner.names else []
            return Type([*inner.names, *own], inner.size, inner.members, inner.element)
        if die.tag in POINTERS:
            sign = POINTERS[die.tag]
            pointee = self._pointee(die)
            return Type([f"{one}{sign}" for one in pointee], size or 8)
        if die.tag == "DW_TAG_array_type":
            return self._array(die)
        if die.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            whole = self._by_name.get(squeezed(self._scopes.get(die.offset, "")))
            declared = "DW_AT_declaration" in die.attributes
            if declared and whole is not None and whole.offset != die.offset and whole.tag in TAGS:
                return self.type(whole)
            spelled = self._spelled(die) if text(die) else f"{TAGS[die.tag]} (anonymous)"
            # Rust looks at what ends with an array also as at the same with an array of unknown length.
            made = Type(list(dict.fromkeys([spelled, LENGTH.sub("]", spelled)])), size)
            self._types[die.offset] = made
            made.members = self._members(die)
            made.virtual = self._virtual(die)
            held = self._held_in_bytes(die, made)
            if held is not None:
                made.members.append((0, held.size, "", held))
            return made
        if die.tag == "DW_TAG_ptr_to_member_type":
            return Type([], 8)
        if die.tag == "DW_TAG_unspecified_type":
            return Type([text(die)], 0)
        names = [self._spelled(die)] if text(die) else []
        # Bytes may be looked at as any of these.
        return Type(list(dict.fromkeys([*names, *CHARACTERS])) if names and names[0] in CHARACTERS else names, size)

    def _held_in_bytes(self, die: DIE, made: Type) -> Type | None:
        """The type that a template's byte buffer holds, as in nodes of containers."""
        told = [child for child in die.iter_children() if child.tag == "DW_TAG_template_type_param"]
        kinds = [kind for _at, _size, _name, kind in made.members if kind.members or kind.element or kind.size > 1]
        if len(told) != 1 or not kinds or not all(map(only_bytes, kinds)):
            return None
        held = self.type_of(told[0])
        return held if 0 < held.size <= made.size and held is not made else None

    def _pointee(self, die: DIE) -> list[str]:
        """Names of what is pointed to, without following into it."""
        if "DW_AT_type" not in die.attributes:
            return ["void"]
        at = die.get_DIE_from_attribute("DW_AT_type")
        names = []
        for _ in range(8):
            if at.tag == "DW_TAG_typedef":
                names.append(self._spelled(at))
            elif at.tag in POINTERS:
                return [*(f"{one}{POINTERS[at.tag]}" for one in self._pointee(at)), *names]
            elif at.tag == "DW_TAG_subroutine_type":
                return ["(function)", "func", *names]
            elif at.tag == "DW_TAG_array_type":
                return [*self.type(at).names, *names]
            elif at.tag not in QUALIFIERS:
                return [*([self._spelled(at)] if text(at) else []), *names]
            if "DW_AT_type" not in at.attributes:
                return ["void", *names]
            at = at.get_DIE_from_attribute("DW_AT_type")
        return names

    def _array(self, die: DIE) -> Type:
        element = self.type_of(die)
        counts = []
        for child in die.iter_children():
            if child.tag == "DW_TAG_subrange_type":
                count = number(child, "DW_AT_count", -1)
                upper = number(child, "DW_AT_upper_bound", -1)
                counts.append(count if count >= 0 else upper + 1)
        made = element
        for count in reversed(counts):
            made = Type([f"{one}[]" for one in made.names], made.size * max(count, 0), element=made)
        return made

    def _members(self, die: DIE) -> list[tuple[int, int, str, Type]]:
        found = []
        for child in die.iter_children():
            if child.tag in ("DW_TAG_variant_part", "DW_TAG_variant"):
                found += self._members(child)
            if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or "DW_AT_external" in child.attributes:
                continue
            if "DW_AT_virtuality" in child.attributes and number(child, "DW_AT_virtuality"):
                continue
            kind = self.type_of(child)
            bits = number(child, "DW_AT_bit_size", -1)
            at = child.attributes.get("DW_AT_data_member_location")
            offset = at.value if at is not None and isinstance(at.value, int) else 0
            size = kind.size
            if bits >= 0:
                first = number(child, "DW_AT_data_bit_offset", -1)
                if first < 0:
                    first = 8 * (offset + kind.size) - number(child, "DW_AT_bit_offset") - bits
                # A read of a bit field may start anywhere in its storage unit.
                offset, size = first // 8, (first % 8 + bits + 7) // 8
                if kind.size:
                    low = offset // kind.size * kind.size
                    offset, size = low, max(kind.size, offset + size - low)
            found.append((offset, size, text(child), kind))
        return found

    def _virtual(self, die: DIE) -> list[tuple[int, Type]]:
        """Virtual bases, whose offset is a word before the object's vtable."""
        found = []
        for child in die.iter_children():
            if child.tag != "DW_TAG_inheritance" or not number(child, "DW_AT_virtuality"):
                continue
            at = child.attributes.get("DW_AT_data_member_location")
            if at is None or not isinstance(at.value, list):
                continue
            said = self._expressions.parse_expr(at.value)
            if [one.op_name for one in said[3:]] == ["DW_OP_minus", "DW_OP_deref", "DW_OP_plus"]:
                before = said[2].args[0] if said[2].args else said[2].op - FIRST_LITERAL
                found.append((before, self.type_of(child)))
        return found

    # Variables and functions

    def _walk(self, die: DIE) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_variable":
                self._global(child)
            elif child.tag == "DW_TAG_subprogram":
                self._function(child)
            elif child.has_children and child.tag in (*TAGS, "DW_TAG_namespace") and text(child) != "stepped":
                self._walk(child)

    def _origin(self, die: DIE) -> DIE:
        for _ in range(4):
            for name in ("DW_AT_abstract_origin", "DW_AT_specification"):
                if name in die.attributes and "DW_AT_type" not in die.attributes:
                    die = die.get_DIE_from_attribute(name)
                    break
            else:
                return die
        return die

    def _global(self, die: DIE) -> None:
        at = die.attributes.get("DW_AT_location")
        if at is None or at.form != "DW_FORM_exprloc":
            return
        said = self._expressions.parse_expr(at.value)
        if len(said) == 1 and said[0].op_name in ("DW_OP_addr", "DW_OP_addrx"):
            address = said[0].args[0]
            if said[0].op_name == "DW_OP_addrx":
                address = die.dwarfinfo.get_addr(die.cu, address)
            whole = self._origin(die)
            if text(die).endswith("{vtable}"):
                return
            self.globals.append(Variable(text(whole) or text(die), self.type_of(whole), "address", address, []))

    def _spans(self, die: DIE) -> list[tuple[int, int]]:
        if "DW_AT_low_pc" in die.attributes and "DW_AT_high_pc" in die.attributes:
            low = die.attributes["DW_AT_low_pc"].value
            if die.attributes["DW_AT_low_pc"].form.startswith("DW_FORM_addrx"):
                low = die.dwarfinfo.get_addr(die.cu, die.attributes["DW_AT_low_pc"].raw_value)
            high = die.attributes["DW_AT_high_pc"]
            return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]
        at = die.attributes.get("DW_AT_ranges")
        if at is None or self._ranges is None:
            return []
        top = die.cu.get_top_DIE()
        base = top.attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in top.attributes else 0
        spans = []
        for one in self._ranges.get_range_list_at_offset(at.value, die.cu):
            if hasattr(one, "base_address"):
                base = one.base_address
            else:
                plus = 0 if getattr(one, "is_absolute", False) else base
                spans.append((one.begin_offset + plus, one.end_offset + plus))
        return spans

    def _function(self, die: DIE) -> None:
        spans = self._spans(die)
        if not spans:
            return
        name = text(self._origin(die)) or text(die)
        base = ""
        if "DW_AT_frame_base" in die.attributes and die.attributes["DW_AT_frame_base"].form == "DW_FORM_exprloc":
            said = self._expressions.parse_expr(die.attributes["DW_AT_frame_base"].value)
            base = {"DW_OP_call_frame_cfa": "cfa", "DW_OP_reg6": "rbp", "DW_OP_reg7": "rsp"}.get(said[0].op_name, "")
        variables: list[Variable] = []
        self._locals(die, spans, 0, variables)
        for low, high in spans:
            self.functions.append(Function(name, low, high, base, variables, self._own(die)))

    def _own(self, die: DIE) -> Type | None:
        """What the first parameter of a class's function points to; None for functions of no class."""
        said = next((one for one in (die, self._origin(die)) if "DW_AT_object_pointer" in one.attributes), None)
        if said is None:
            return None
        at = self._origin(said.get_DIE_from_attribute("DW_AT_object_pointer"))
        while "DW_AT_type" in at.attributes:
            pointer = at.tag in POINTERS
            at = at.get_DIE_from_attribute("DW_AT_type")
            if pointer:
                return self.type(at)
        return None

    def _locals(self, die: DIE, spans: list[tuple[int, int]], depth: int, into: list[Variable]) -> None:
        for child in die.iter_children():
            if child.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                self._global(child)
                whole = self._origin(child)
                at = child.attributes.get("DW_AT_location")
                if at is None or len(into) > MOST:
                    continue
                listed = at.form not in ("DW_FORM_exprloc", "DW_FORM_block1")
                for (base, offset, part), ranges in self._places(child, at, spans):
                    name, kind = text(whole) or text(child), self.type_of(whole)
                    into.append(Variable(name, kind, base, offset, ranges, depth, part, listed))
            elif child.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
                self._locals(child, self._spans(child) or spans, depth + 1, into)

    def _places(
        self, die: DIE, at: object, spans: list[tuple[int, int]]
    ) -> list[tuple[tuple[str, int, tuple[int, int]], list[tuple[int, int]]]]:
        if not self._parser.attribute_has_location(at, die.cu["version"]):
            return []
        said = self._parser.parse_from_attribute(at, die.cu["version"], die)
        if not isinstance(said, list):
            return [(place, spans) for place in self._in_memory(said.loc_expr)]
        top = die.cu.get_top_DIE()
        base = top.attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in top.attributes else 0
        found = []
        for one in said:
            if not isinstance(one, LocationEntry):
                base = getattr(one, "base_address", base)
                continue
            plus = 0 if one.is_absolute else base
            low, high = one.begin_offset + plus, one.end_offset + plus
            # A location for code outside of the variable's scope is of no name that is visible there.
            ranges = [(max(low, begin), min(high, end)) for begin, end in spans if begin < high and low < end]
            found += [(place, ranges) for place in self._in_memory(one.loc_expr) if ranges]
        return found

    def _in_memory(self, expression: list[int]) -> list[tuple[str, int, tuple[int, int]]]:
        """Where a variable is, or each piece of it that is in the frame: what from, how far, and which of its bytes."""
        said = self._expressions.parse_expr(expression)
        if len(said) == 1:
            place = self._place(said[0])
            return [(*place, (0, 1 << 62))] if place else []
        found, before, at = [], None, 0
        for n, one in enumerate(said):
            if one.op_name == "DW_OP_piece":
                if before is not None:
                    base, offset = before
                    found.append((base, offset - at, (at, at + one.args[0])))
                before, at = None, at + one.args[0]
            else:
                lone = n + 1 < len(said) and said[n + 1].op_name == "DW_OP_piece"
                before = self._place(one) if lone and (not n or said[n - 1].op_name == "DW_OP_piece") else None
        return found if said[-1].op_name == "DW_OP_piece" else []

    def _place(self, said: DWARFExprOp) -> tuple[str, int] | None:
        if said.op_name == "DW_OP_fbreg":
            return "frame", said.args[0]
        if said.op_name in ("DW_OP_breg6", "DW_OP_breg7"):
            return {"DW_OP_breg6": "rbp", "DW_OP_breg7": "rsp"}[said.op_name], said.args[0]
        return None


SHORTER = (
    ("long long unsigned int", "unsigned long long"),
    ("long long int", "long long"),
    ("long unsigned int", "unsigned long"),
    ("short unsigned int", "unsigned short"),
    ("long int", "long"),
    ("short int", "short"),
    ("(__gnu_cxx::_Lock_policy)2", "__gnu_cxx::_S_atomic"),
)


def squeezed(name: str) -> str:
    """A name without spaces and `const`, integers by one of their names."""
    name = CONST.sub("", name)
    for long, short in SHORTER:
        name = name.replace(long, short)
    name = name.replace(" ", "")
    for given in BY_DEFAULT:
        name = name.replace(given, "")
    return name


def text(die: DIE) -> str:
    """An entry's name; "" without one."""
    at = die.attributes.get("DW_AT_name")
    return at.value.decode(errors="replace") if at is not None else ""


def number(die: DIE, name: str, otherwise: int = 0) -> int:
    """An attribute that is a number."""
    at = die.attributes.get(name)
    return at.value if at is not None and isinstance(at.value, int) else otherwise


@dataclass(frozen=True)
class Accepted:
    """A right answer: a type's name, and where in it the first byte may be."""

    type: str
    low: int
    high: int
    field: str = dataclasses.field(compare=False)


def accepted(kind: Type, offset: int, count: int, stride: int) -> list[Accepted]:
    """All that rightly name the byte at an offset of so many of a type in a row, from outside to inside."""
    found: list[Accepted] = []
    if count != 1:
        found += [Accepted(f"{name}[]", 0, stride * count, "") for name in kind.names]
        offset %= max(stride, 1)
    _descend(kind, offset, "", found, 0)
    return found


def _descend(kind: Type, offset: int, path: str, found: list[Accepted], deep: int) -> list[tuple[int, int, str]]:
    """Leaves below: (from, to, path) in this type's bytes."""
    if deep > 24:
        return []
    if kind.element is not None:
        element = kind.element
        end = kind.size if kind.size > offset else 1 << 30
        spans = [(0, end, f"{path}[]")]
        own = len(found)
        if element.size:
            inner = offset % element.size
            _descend(element, inner, f"{path}[]", found, deep + 1)
        found[own:own] = [Accepted(name, 0, end, path) for name in kind.names]
        return spans
    if kind.members:
        own = len(found)
        leaves: list[tuple[int, int, str]] = []
        for at, size, name, member in kind.members:
            flexible = member.element is not None and not member.size
            if at <= offset and (offset < at + size or flexible):
                below = f"{path}.{name}" if path and name else path or name
                for low, high, said in _descend(member, offset - at, below, found, deep + 1):
                    leaves.append((at + low, at + high, said))
        here = [
            Accepted(name, low, high, said)
            for name in kind.names
            for low, high, said in leaves or [(offset, offset + 1, path)]
        ]
        found[own:own] = here
        return leaves
    found += [Accepted(name, 0, max(kind.size, 1), path) for name in kind.names]
    return [(0, max(kind.size, 1), path)]
