"""Compiles the kernels: the Python files whose first line is a ``# cython:`` directive.

All metadata is in pyproject.toml. ``UNDWARF_KERNELS=perfdata.decoder,unwind.walk`` limits a development
build to those modules, ``none`` leaves all of them out: `make` installs like that and builds in place afterwards, where
only what has changed is compiled again.

Numbers that kernels share are declared once, in Python modules whose first line begins with ``# constants of kernels``.
Each gets a ``.pxd`` beside it, which makes them constants of C: a kernel that took them from the module would read them
from memory at each use.

The kernels of a folder are linked into one file, ``_kernels``: a program that loads them one by one spends as much on
that as on what they do then. ``undwarf._compiled`` has their names, for `undwarf/importing.py`, which finds them.
"""

import ast
import multiprocessing
import os
from collections import defaultdict
from multiprocessing.pool import ThreadPool
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer, newer_group

SOURCE = Path("src")
MADE = Path("build/cython")
SHARED = "undwarf._shared"
"""What all kernels need of Cython, typed buffers above all, as one module: in each it was half of the build."""
NAMES = "undwarf._compiled"
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
OWN_FILES = ("undwarf.arenas", "undwarf.column", "undwarf.mapped_files", SHARED, NAMES)
"""What is needed of the first folder is needed apart."""
FLAGS: dict[str, list[str]] = {}
"""What is said to the C compiler of each file."""


def kernels() -> list[Extension]:
    """Each compiled source file."""
    wanted = {name for name in os.environ.get("UNDWARF_KERNELS", "").split(",") if name}
    if wanted == {"none"}:
        return []
    found = []
    for path in sorted((SOURCE / "undwarf").rglob("*.py")):
        with path.open(encoding="utf-8") as file:
            directive = file.readline()
        if not directive.startswith("# cython:"):
            continue
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if wanted and name.removeprefix("undwarf.") not in wanted:
            continue
        # What has no types of C asks the interpreter for everything: -O3 took two to three times as long there, for no
        # speed that could be measured.
        level = "-O1" if "annotation_typing=False" in directive else "-O3"
        found.append(Extension(name, [str(path)], extra_compile_args=[level, "-g0", "-w"]))
    return [*found, names(found), Extension(SHARED, ["src/undwarf/_shared.c"], extra_compile_args=["-O2", "-g0", "-w"])]


def declare_constants() -> None:
    """Write the ``.pxd`` of each module of constants: its whole numbers, and its classes as enumerations."""
    for path in sorted((SOURCE / "undwarf").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not source.startswith("# constants of kernels"):
            continue
        declared = {"": assigned(ast.parse(source).body)}
        declared |= {one.name: assigned(one.body) for one in ast.parse(source).body if isinstance(one, ast.ClassDef)}
        text = f"# Made of {path.name} by setup.py.\n"
        for name, numbers in declared.items():
            if numbers:
                text += f"cdef enum {name}".rstrip() + ":\n"
                text += "".join(f"    {constant} = {number}\n" for constant, number in numbers.items())
        declaration = path.with_suffix(".pxd")
        if not declaration.exists() or declaration.read_text() != text:
            declaration.write_text(text)


def assigned(body: list[ast.stmt]) -> dict[str, int]:
    """The public names that are whole numbers, as expressions of literals or of names before them."""
    numbers: dict[str, int] = {}
    for one in body:
        if not isinstance(one, ast.Assign) or not isinstance(one.targets[0], ast.Name):
            continue
        name = one.targets[0].id
        used = {part.id for part in ast.walk(one.value) if isinstance(part, ast.Name)}
        if name.isupper() and not name.startswith("_") and used <= numbers.keys():
            value = eval(compile(ast.Expression(one.value), "constants", "eval"), {"__builtins__": {}}, numbers)
            if isinstance(value, int):
                numbers[name] = value
    return numbers


def names(found: list[Extension]) -> Extension:
    """A module that says which modules are linked with those of their folder."""
    text = f"NAMES = {sorted(one.name for one in found if one.name not in OWN_FILES)}\n"
    path = MADE / "_compiled.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return Extension(NAMES, [str(path)], extra_compile_args=["-O1", "-g0", "-w"])


def linked(compiled: list[Extension]) -> list[Extension]:
    """One extension for the kernels of each folder."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for one in compiled:
        name = one.name if one.name in OWN_FILES else one.name.rpartition(".")[0] + "._kernels"
        folders[name] += one.sources
        FLAGS.update((source, one.extra_compile_args) for source in one.sources)
    return [Extension(name, sources) for name, sources in sorted(folders.items())]


class Build(build_ext):
    """Compiles what has changed of each kernel, all that there is to compile at once."""

    def build_extensions(self) -> None:
        """Compile first; then extensions are linked of what is there."""
        compiler = self.compiler
        compile_some = compiler.compile

        def place(source: str) -> str:
            return compiler.object_filenames([source], output_dir=self.build_temp)[0]

        def compile_one(source: str) -> None:
            if self.force or newer(source, place(source)):
                compile_some([source], self.build_temp, extra_postargs=FLAGS[source])

        changed = [
            source
            for one in self.extensions
            if self.force or newer_group(one.sources, self.get_ext_fullpath(one.name), "newer")
            for source in one.sources
        ]
        with ThreadPool(JOBS) as pool:
            pool.map(compile_one, changed, chunksize=1)
        compiler.compile = lambda sources, **_given: [place(source) for source in sources]
        super().build_extensions()


if __name__ == "__main__":
    # Cython translates in several processes; forked ones need not import this file, and keep what it was told.
    declare_constants()
    multiprocessing.set_start_method("fork", force=True)
    setup(
        ext_modules=linked(
            cythonize(
                kernels(),
                build_dir=str(MADE),
                compiler_directives={"language_level": 3, "show_performance_hints": False},
                show_all_warnings=False,
                quiet=True,
                nthreads=JOBS,
                shared_utility_qualified_name=SHARED,
            )
        ),
        cmdclass={"build_ext": Build},
        options={"build_ext": {"parallel": JOBS}},
    )
