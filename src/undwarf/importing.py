"""Finds the modules of this package: in listings of its folders, and kernels in the shared object of their folder.

The standard library's finder asks the system for each module again, and opens a shared object for each kernel, a
hundred and forty of them to say what a recording touches. Kernels are linked folder by folder (`setup.py`), into files
called ``_kernels``; ``undwarf._compiled`` tells which are. What is not found here, the standard library looks for.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import ModuleType

_OURS = f"{__name__.partition('.')[0]}."
_SUFFIX = EXTENSION_SUFFIXES[0]
_TOGETHER = f"_kernels{_SUFFIX}"


class Finder:
    """Knows which files were in a folder when it was first asked for one of them."""

    def __init__(self) -> None:
        self._files: dict[str, frozenset[str]] = {}
        self._linked: frozenset[str] | None = None

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, _target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """Where a module is loaded from; None for those of others, and where there is no file."""
        if path is None or not name.startswith(_OURS):
            return None
        folder = path[0]
        files = self._files.get(folder)
        if files is None:
            files = self._files[folder] = _listed(folder)
        last = name[name.rindex(".") + 1 :]
        inner = None
        loader: ExtensionFileLoader | SourceFileLoader
        if _TOGETHER in files and name in self._names():
            origin = f"{folder}/{_TOGETHER}"
            loader = ExtensionFileLoader(name, origin)
        elif f"{last}{_SUFFIX}" in files:
            origin = f"{folder}/{last}{_SUFFIX}"
            loader = ExtensionFileLoader(name, origin)
        elif f"{last}.py" in files:
            origin = f"{folder}/{last}.py"
            loader = SourceFileLoader(name, origin)
        elif last in files:
            inner = f"{folder}/{last}"
            origin = f"{inner}/__init__.py"
            loader = SourceFileLoader(name, origin)
        else:
            return None
        spec = ModuleSpec(name, loader, origin=origin)
        spec.has_location = True
        if inner is not None:
            spec.submodule_search_locations = [inner]
        return spec

    def invalidate_caches(self) -> None:
        """Look again; for :func:`importlib.invalidate_caches`."""
        self._files.clear()

    def _names(self) -> frozenset[str]:
        if self._linked is None:
            self._linked = frozenset(import_module(f"{_OURS}_compiled").NAMES)
        return self._linked


def _listed(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - pathlib is not loaded yet, and large
    except OSError:
        # In an archive, say.
        return frozenset()


def install() -> None:
    """Ask here first."""
    sys.meta_path.insert(0, Finder())
