"""The sources of unwind information for a table, by name, and the order in which they are used.

A further kind is one module ``tables/from_NAME.py`` and one line in :data:`MODULES`. The module offers::

    def providers(request: Request) -> list[Provider]
    SUPPORTED: frozenset[tuple[int, str]]

``SUPPORTED`` are the ELF machines, each with its byte order, whose tables the module reads. A provider is called when
the sources before it have no rule for an address, so that a file is read no sooner than needed; it returns a
:class:`Source`, or None where the file has nothing of the kind. Rules go into ``request.rules``
(:meth:`undwarf.tables.rule_set.RuleSet.add`); their ``source`` is the kind's member of
:class:`undwarf.tables.rule_kinds.RuleSource`, which is also the provenance of the frames that they unwind. Damage is
counted in ``request.defects`` and becomes a hole; limits come from ``request.limits``. With that, `undwarf tables dump
--source NAME`, `--unwind NAME` and ``UnwindTable.from_elf(elf, "NAME")`` work.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple, Protocol

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.go_functions import may_have_functions
from undwarf.elf.machine_names import machine_name, machine_of_file
from undwarf.errors import NothingUsable, UsageError
from undwarf.limits import Limits
from undwarf.tables.rule_set import RuleSet

__all__ = [
    "FRAME_POINTERS", "MODULES", "NAMES", "UNWIND_NAMES", "UNWIND_ORDER", "Provider", "Request", "Source",
    "parse_order", "providers", "require_supported",
]  # fmt: skip  # a table

FRAME_POINTERS = "fp"
"""In an order of sources: where no rule is left, the walk steps by the frame pointer. Tables do not use it."""

MODULES = {
    "eh-frame": "undwarf.tables.from_cfi",
    "debug-frame": "undwarf.tables.from_cfi",
    "sframe": "undwarf.tables.from_sframe",
    "gopclntab": "undwarf.tables.from_gopclntab",
    "orc": "undwarf.tables.from_orc",
    "code": "undwarf.tables.from_code",
}
"""The module of each kind, imported when it is used."""

_SECTIONS = {"sframe": (".sframe", 0x6474E554), "orc": (".orc_unwind", -1)}
"""The section, and the type of the program header (-1: none), without which a file has nothing of a kind."""

UNWIND_ORDER = ("eh-frame", "gopclntab", "debug-frame", "sframe", "code", FRAME_POINTERS)
"""The default order for walking stacks: sources that restore most registers first."""

_GROUPS = {"cfi": ("eh-frame", "debug-frame"), "auto": UNWIND_ORDER}
"""Names for several kinds."""

NAMES = ("cfi", *MODULES)
"""Names for users."""

UNWIND_NAMES = ("auto", *NAMES, FRAME_POINTERS)
"""Names for users where stacks are walked."""

DEFAULT_ORDER = ("eh-frame", "debug-frame", "orc")
"""The default order for a table."""


class Source(Protocol):
    """Functions and their rules from one place, such as :class:`undwarf.tables.section_source.SectionSource`.

    ``starts`` and ``ends`` (Q) are sorted, disjoint, non-empty ranges of ELF virtual addresses. ``indexed`` is False,
    except for the quick first pass over `.eh_frame`. A source may have ``apart``, set if no range is in a function of
    another source: it can then be added to a quick first pass. All calls come with ``rules.lock`` held or from one
    thread.
    """

    starts: memoryview
    ends: memoryview
    indexed: bool

    def rows(self, piece: int, start: int, end: int, /) -> tuple[memoryview, memoryview]:
        """(addresses Q, rule numbers I) of range number ``piece``: ascending addresses, the first one ``start``, all
        below ``end``; NO_RULE marks a hole. Computed at the first call. ``start`` and ``end`` may be a part of the
        range, where another source covers the rest."""

    def compile_all(self) -> int:
        """Compute all rows; the number of rows."""


Provider = Callable[[], Source | None]


class Request(NamedTuple):
    """A request for the functions of a file.

    ``kinds`` are the wanted kinds among those that the module reads, in order. ``debug_elf`` finds the separate debug
    file. ``quick``: few functions of many will be looked up. ``followed``: other kinds come after these, for addresses
    between functions. ``first``: none come before. ``walking``: as ``quick``, for later kinds too.
    """

    elf: ElfFile
    kinds: tuple[str, ...]
    debug_elf: Callable[[], ElfFile | None]
    rules: RuleSet
    limits: Limits
    defects: Defects
    quick: bool
    followed: bool
    first: bool = True
    walking: bool = False


def parse_order(source: "str | Iterable[str] | None", default: tuple[str, ...] = DEFAULT_ORDER) -> tuple[str, ...]:
    """Kinds in their order, from names or ``"cfi,sframe,fp"``; ``fp`` stays in its place. ``auto`` is the order for
    walking stacks, None stands for ``default``.

    Raises UsageError for unknown names.
    """
    if source is None:
        return default
    names = source.split(",") if isinstance(source, str) else list(source)
    found: list[str] = []
    for name in names:
        kind = name.strip().lower().replace("_", "-")
        if kind not in _GROUPS and kind not in MODULES and kind != FRAME_POINTERS:
            known = NAMES if default == DEFAULT_ORDER else UNWIND_NAMES
            raise UsageError(f"no unwind tables from {name!r}", f"the sources are {', '.join(known)}")
        found += [one for one in _GROUPS.get(kind, (kind,)) if one not in found]
    return tuple(found)


def providers(
    order: tuple[str, ...],
    elf: ElfFile,
    debug_elf: Callable[[], ElfFile | None],
    rules: RuleSet,
    limits: Limits,
    defects: Defects,
    *,
    quick: bool,
) -> list[Provider]:
    """The providers of kinds, in order; one request has all neighbours of the same module."""
    kinds = [kind for kind in order if kind != FRAME_POINTERS and _may_have(elf, kind)]
    # Decided here, since a following kind makes the ones before it be read in full.
    if quick and "code" in kinds[1:] and not import_module(MODULES["code"]).is_worth(elf):
        kinds.remove("code")
    found: list[Provider] = []
    at = 0
    while at < len(kinds):
        module = MODULES[kinds[at]]
        end = at + 1
        while end < len(kinds) and MODULES[kinds[end]] == module:
            end += 1
        # Linkage tables are apart from all functions: they can be added to functions that are not known in full.
        stubs_only = quick and kinds[end:] == ["code"] and import_module(MODULES["code"]).has_stubs_only(elf)
        request = Request(
            elf,
            tuple(kinds[at:end]),
            debug_elf,
            rules,
            limits,
            defects,
            quick=quick and at == 0,
            followed=end < len(kinds) and not stubs_only,
            first=at == 0,
            walking=quick,
        )
        found += import_module(module).providers(request)
        at = end
    return found


def require_supported(elf: ElfFile, order: tuple[str, ...]) -> None:
    """Raises NothingUsable for a file whose machine is supported for none of the kinds that it may have."""
    wanted = [kind for kind in order if kind != FRAME_POINTERS]
    kinds = [kind for kind in wanted if _may_have(elf, kind)] or wanted
    known: set[tuple[int, str]] = set()
    for kind in kinds:
        known |= import_module(MODULES[kind]).SUPPORTED
    if kinds and (elf.machine, elf.byte_order) not in known:
        names = [machine_name(*one) for one in sorted(known)]
        supported = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        raise NothingUsable(
            f"{elf.path} is for {machine_of_file(elf)}, and unwind tables are read from {'/'.join(kinds)} "
            f"for {supported} only"
        )


def _may_have(elf: ElfFile, kind: str) -> bool:
    """Whether a file may have a kind; a kind that it lacks does not make others be read in full."""
    if kind == "gopclntab":
        return may_have_functions(elf)
    if kind not in _SECTIONS:
        return True
    name, segment = _SECTIONS[kind]
    return any(one.type == segment for one in elf.segments) or elf.section(name) is not None
