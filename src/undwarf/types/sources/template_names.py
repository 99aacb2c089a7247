# cython: language_level=3, annotation_typing=False
"""Template arguments that compilers omit from type names.

With Clang's `-gsimple-template-names`, `vector<int>` is named `vector`, and its template parameters precede its
members; the full name is built from these. By default GCC and Clang write `vector<int>`.
"""

import re
from collections.abc import Callable

from undwarf.dwarf.die import Entry
from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.types.layouts.type_records import THROUGH, Kind
from undwarf.types.sources.dwarf_entries import CONST_VALUE, TEMPLATE_NAME, tags_of

__all__ = ["TAG_TYPE_PARAMETER", "TemplateNames"]

TAG_TYPE_PARAMETER, TAG_VALUE_PARAMETER, TAG_TEMPLATE_PARAMETER, TAG_PARAMETER_PACK = 0x2F, 0x30, 0x4106, 0x4107
_FIRST = frozenset((TAG_TYPE_PARAMETER, TAG_VALUE_PARAMETER, TAG_TEMPLATE_PARAMETER, TAG_PARAMETER_PACK))
_TOP = tags_of(TAG_TYPE_PARAMETER, TAG_VALUE_PARAMETER, TAG_TEMPLATE_PARAMETER, into=(TAG_PARAMETER_PACK,))
_KEYWORD = re.compile(r"\b(?:struct|class|union|enum) ")
_QUALIFIERS = {Kind.CONST: "const", Kind.VOLATILE: "volatile"}
_SUFFIXES = {"unsigned int": "U", "long": "L", "unsigned long": "UL", "long long": "LL", "unsigned long long": "ULL"}
_MAX_DEPTH = 8
_MAX_HOPS = 64
_MAX_ARGUMENTS = 32
_MAX_NAME = 4096


class TemplateNames:
    """Builds full names; ``type_of`` returns the type that an entry refers to."""

    def __init__(self, graph: TypeGraph, type_of: Callable[[Entry], int]) -> None:
        self._graph = graph
        self._type_of = type_of
        self._depth = 0
        self._steps = 0
        self._known: dict[int, str] = {}

    def whole(self, entry: Entry, name: str) -> str:
        """The name of a C++ aggregate with its template arguments; unchanged if it has them or is no template.

        More than eight nested templates or 32 arguments are shortened to ``...``.
        """
        if not name or "<" in name or not entry.has_children:
            return name
        first = entry.space.entry_in(entry.unit, entry.end)
        if first is None or first.tag not in _FIRST:
            return name
        if self._depth >= _MAX_DEPTH:
            return f"{name}<...>"
        if not self._depth:
            self._steps = self._graph.limits.type_steps
            self._known.clear()
        self._depth += 1
        try:
            parameters = entry.space.children(entry, _TOP)
            parts = [self._argument(one) for one in parameters[:_MAX_ARGUMENTS] if one.tag != TAG_PARAMETER_PACK]
        finally:
            self._depth -= 1
        if len(parameters) > _MAX_ARGUMENTS:
            parts.append("...")
        arguments = ", ".join(parts)[:_MAX_NAME]
        return f"{name}<{arguments}{' ' if arguments.endswith('>') else ''}>"

    def _argument(self, parameter: Entry) -> str:
        if parameter.tag == TAG_TEMPLATE_PARAMETER:
            return parameter.string(TEMPLATE_NAME)
        spelled = self._spelled(self._type_of(parameter))
        if parameter.tag == TAG_TYPE_PARAMETER:
            return spelled
        value = parameter.number(CONST_VALUE)
        if value is None:
            return f"({spelled})"
        if spelled == "bool":
            return "true" if value else "false"
        return f"{value}{_SUFFIXES.get(spelled, '')}"

    def _spelled(self, t: int, depth: int = 0) -> str:
        """A type spelled as Clang does, ``const Node *``: the spelling decides which specialisation a name refers to.

        Each type is spelled once a name: types of functions repeat the same types.
        """
        found = self._known.get(t)
        if found is None:
            self._steps -= 1
            if depth >= _MAX_HOPS or self._steps < 0:
                return "?"
            found = self._known[t] = self._spelling(t, depth)[:_MAX_NAME]
        return found

    def _spelling(self, t: int, depth: int) -> str:
        graph = self._graph
        record = graph.record(t)
        if record.kind in (Kind.POINTER, Kind.REFERENCE):
            inner = self._spelled(record.target, depth + 1)
            mark = "*" if record.kind == Kind.POINTER else record.name or "&"
            return f"{inner}{mark}" if inner.endswith("*") else f"{inner} {mark}"
        if record.kind in _QUALIFIERS:
            inner = self._spelled(record.target, depth + 1)
            word = _QUALIFIERS[record.kind]
            return f"{inner}{word}" if inner.endswith(("*", "&")) else f"{word} {inner}"
        if record.kind == Kind.FUNCTION:
            parameters = [self._spelled(given, depth + 1) for _name, given in record.parameters[:_MAX_ARGUMENTS]]
            return f"{self._spelled(record.target, depth + 1)} ({', '.join(parameters)})"
        if record.kind in THROUGH and graph.name(graph.strip(t)):
            return self._spelled(record.target, depth + 1)
        return _KEYWORD.sub("", graph.canonical_name(t))
