"""Unwind tables of code that processes of a recording copied to anonymous memory: copies of a file's template.

In core files and running processes copies are found by their bytes. A recording has not the bytes of anonymous memory;
there the process's perf map has the addresses and sizes of copies, named as functions of the runtime.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from undwarf.defects import Defects
from undwarf.images import ImageKind, ImageStore
from undwarf.limits import Limits
from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.synthetic_mmaps import EXEC, USER
from undwarf.symbols.perfmap import has_map, places_in_map
from undwarf.tables.rule_set import RuleSet

if TYPE_CHECKING:
    from undwarf.tables.model import UnwindTable

PREFIX = b"py::"
"""Prefix of CPython's functions in a perf map."""


class CopiedCode:
    """Unwind tables of copied code. ``pids`` gives by image number the process whose private memory the image is.

    ``read`` reads the memory of a core file's or running process (:data:`undwarf.tables.from_copies.Read`); None for
    recordings.
    """

    def __init__(
        self,
        records: Records,
        store: ImageStore,
        pids: "Callable[[], list[int | None]]",
        limits: Limits,
        defects: Defects,
        read: "Callable[[int, int], bytes] | None" = None,
    ) -> None:
        self._defects = defects
        self._read = read
        self._records = records
        self._store = store
        self._pids = pids
        self._known: list[int | None] = []
        self._limits = limits
        self._files: dict[int, set[tuple[int, int]]] | None = None
        self._parents: dict[int, int] = {}
        self._templates: dict[tuple[int, int], bytes | None] = {}

    def table(self, image: int, rules: RuleSet) -> "UnwindTable | None":
        """The table of an image; None if its process is not known to have copied code."""
        if image >= len(self._known):
            self._known = self._pids()
        pid = self._known[image]
        if pid is None or (self._read is None and not has_map(self._store.finder, pid)):
            return None
        from undwarf.tables.from_copies import table_in_memory, table_of_copies

        subject = f"process {pid}"
        for template in self._templates_of(pid):
            if self._read is not None:
                return table_in_memory(template, self._read, rules, self._limits, self._defects, subject)
            starts = places_in_map(self._store.finder, pid, PREFIX, len(template), self._limits)
            if starts:
                return table_of_copies(template, starts, rules, self._limits, self._defects, subject)
        return None

    def _templates_of(self, pid: int) -> Iterator[bytes]:
        """The templates in files that a process, or one of its ancestors, mapped executably."""
        from undwarf.tables.from_copies import template_of

        if self._files is None:
            self._files = self._read_sideband()
        for _ in range(self._limits.fork_parents):
            for key in sorted(self._files.get(pid, ())):
                if key not in self._templates:
                    image = self._store.image(key)
                    elf = image.elf if image.kind is ImageKind.FILE else None
                    self._templates[key] = template_of(elf, self._limits) if elf is not None else None
                template = self._templates[key]
                if template is not None:
                    yield template
            parent = self._parents.get(pid)
            if parent is None:
                return
            pid = parent

    def _read_sideband(self) -> dict[int, set[tuple[int, int]]]:
        """The image keys of what each process mapped executably. Notes each process's parent as well."""
        side = self._records.sideband
        protections, parents = side.mmaps.protection, side.forks.parent_pid
        found: dict[int, set[tuple[int, int]]] = {}
        for row, kind in enumerate(side.kind):
            if kind == SidebandKind.MMAP and protections[row] & EXEC and side.misc[row] & 7 == USER:
                found.setdefault(side.pid[row], set()).add((side.name[row], side.identity[row]))
            elif kind == SidebandKind.FORK and parents[row] != side.pid[row]:
                self._parents[side.pid[row]] = parents[row]
        return found
