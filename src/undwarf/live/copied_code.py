"""Unwind tables of code that running processes copied to anonymous memory: copies of a file's template."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from undwarf.defects import Defects
from undwarf.errors import ElfError
from undwarf.images import Finder, ImageKind
from undwarf.images.image_kind import kind_of_name
from undwarf.images.symfs_paths import confined
from undwarf.limits import Limits
from undwarf.live.process_memory import memory_of
from undwarf.symbols.kernel_symbols import read_text
from undwarf.tables.from_copies import table_in_memory, template_of
from undwarf.tables.model import UnwindTable
from undwarf.tables.rule_set import RuleSet


class LiveCopies:
    """Unwind tables of copied code. ``pids`` gives by image number the process whose private memory the image is."""

    def __init__(
        self, finder: Finder, pids: "Callable[[], list[int | None]]", limits: Limits, defects: Defects
    ) -> None:
        self._finder = finder
        self._pids = pids
        self._known: list[int | None] = []
        self._limits = limits
        self._defects = defects
        self._templates: dict[tuple[int, int, int], bytes | None] = {}

    def table(self, image: int, rules: RuleSet) -> UnwindTable | None:
        """The table of an image; None where its process has no file with a template."""
        if image >= len(self._known):
            self._known = self._pids()
        pid = self._known[image]
        if pid is None or pid <= 0:
            return None
        template = next(filter(None, map(self._template, _files(pid, self._limits.process_maps_bytes))), None)
        if template is None:
            return None

        def read(start: int, end: int) -> bytes:
            return memory_of(pid, start, end)

        return table_in_memory(template, read, rules, self._limits, self._defects, f"process {pid}")

    def _template(self, path: str) -> bytes | None:
        try:
            status = os.stat(path)
            key = (status.st_dev, status.st_ino, status.st_mtime_ns)
            if key not in self._templates:
                if len(self._templates) >= self._limits.template_files:
                    self._templates.clear()
                self._templates[key] = template_of(self._finder.open(path), self._limits)
            return self._templates[key]
        except (OSError, ValueError, ElfError):
            return None


def _files(pid: int, max_bytes: int) -> Iterator[str]:
    """Paths of the files that a process maps executably, each once; none if /proc/PID/maps has over ``max_bytes``."""
    text = b""
    with suppress(OSError, ValueError):
        text = read_text(f"/proc/{pid}/maps", max_bytes)
    lines = [line.split(None, 5) for line in text.splitlines()]
    names = dict.fromkeys(parts[5] for parts in lines if len(parts) == 6 and b"x" in parts[1])
    for name in names:
        if kind_of_name(name) is ImageKind.FILE:
            yield confined(f"/proc/{pid}/root", name.decode("utf-8", "surrogateescape")) or ""
