"""Compiles the kernels: the Python files whose first line is a ``# cython:`` directive.

All metadata is in pyproject.toml. ``UNDWARF_KERNELS=perfdata.decode,unwind`` limits a build to those modules and
folders, ``none`` leaves all of them out: `make` installs like that and builds in place afterwards, where only what has
changed is compiled again. Of the time of a build nine tenths are the C compiler's.

``UNDWARF_STABLE_ABI=1`` makes one wheel for CPython 3.11 and all later versions, of the stable ABI. Kernels then call
the interpreter where they would look into its objects (docs/architecture.md has the cost).

Numbers that kernels share are declared once, in Python modules whose first line starts with ``# constants of kernels``.
Each gets a ``.pxd`` beside it, which makes them constants of C: a kernel that took them from the module would read them
from memory at each use.
"""

import ast
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Distribution, Extension, setup

SOURCE = Path("src")
MADE = Path("build/cython")
SHARED = "undwarf._shared"
"""What all kernels need of Cython, typed buffers above all, as one module: in each it was half of the build."""
MANUAL = "share/man/man1"
STABLE_ABI = os.environ.get("UNDWARF_STABLE_ABI") == "1"
MACROS = [("CYTHON_LIMITED_API", "1"), ("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else []
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def kernels() -> dict[str, Extension]:
    """Each compiled source file, by the module's name."""
    found = {}
    for path in sorted((SOURCE / "undwarf").rglob("*.py")):
        with path.open(encoding="utf-8") as file:
            directive = file.readline()
        if directive.startswith("# cython:"):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            # Code without C types calls the interpreter for everything: -O2 compiles 1.7 times as long there, for no
            # speed that could be measured. Nor does -O3 make the walk of stacks faster, in a quarter more time.
            level = "-O1" if "annotation_typing=False" in directive else "-O2"
            found[name] = extension(name, str(path), level)
    found[SHARED] = extension(SHARED, "src/undwarf/_shared.c", "-O2")
    return found


def extension(name: str, source: str, level: str) -> Extension:
    """A kernel, compiled with this level of optimisation."""
    arguments = [level, "-g0", "-w"]
    return Extension(name, [source], define_macros=MACROS, extra_compile_args=arguments, py_limited_api=STABLE_ABI)


def wanted(found: dict[str, Extension]) -> list[Extension]:
    """Those that ``UNDWARF_KERNELS`` names, by module or folder; all of them if it is not set."""
    names = tuple(f"undwarf.{name}." for name in os.environ.get("UNDWARF_KERNELS", "").split(",") if name)
    if names == ("undwarf.none.",):
        return []
    return [one for name, one in found.items() if not names or name == SHARED or f"{name}.".startswith(names)]


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
            wide = {} if name else {one: number for one, number in numbers.items() if number >= 1 << 31}
            if len(numbers) > len(wide):
                text += f"cdef enum {name}".rstrip() + ":\n"
                text += "".join(f"    {one} = {number}\n" for one, number in numbers.items() if one not in wide)
            if wide:
                text += beyond_int(path, wide)
        declaration = path.with_suffix(".pxd")
        if not declaration.exists() or declaration.read_text() != text:
            declaration.write_text(text)


def beyond_int(path: Path, numbers: dict[str, int]) -> str:
    """Declarations of numbers that are no ``int`` of C, as Cython takes the names of an enumeration to be: those of 32
    and of 64 bits are unsigned, all between signed."""
    macros = {name: "_".join((*path.relative_to(SOURCE).with_suffix("").parts, name)).upper() for name in numbers}
    kinds = {32: ("u", "unsigned int"), 64: ("ull", "unsigned long long")}
    kind = {name: kinds.get(number.bit_length(), ("ll", "long long")) for name, number in numbers.items()}
    text = 'cdef extern from *:\n    """\n'
    text += "".join(f"    #define {macros[name]} {number}{kind[name][0]}\n" for name, number in numbers.items())
    text += '    """\n'
    return text + "".join(f'    const {kind[name][1]} {name} "{macros[name]}"\n' for name in numbers)


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


class InstallManualPages(Distribution().get_command_class("install_data")):
    """Installs manual pages, written from the help of the commands that were built. Editable installations have none:
    their commands may not be built yet."""

    def run(self) -> None:
        if not self.get_finalized_command("build_py").editable_mode:
            built = self.get_finalized_command("build").build_lib
            path = os.pathsep.join(filter(None, (built, os.environ.get("PYTHONPATH"))))
            command = [sys.executable, "docs/site/man_pages.py", "build/man"]
            environment = os.environ | {"PYTHONPATH": path}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            self.data_files = [(MANUAL, done.stdout.split())]
        super().run()


def remove_leftovers(found: dict[str, Extension]) -> None:
    """Delete compiled modules whose source is no kernel any more: Python would import them instead of a source."""
    for root in (SOURCE, *Path("build").glob("lib.*")):
        for path in (root / "undwarf").rglob("*.so"):
            if ".".join((*path.relative_to(root).parent.parts, path.name.partition(".")[0])) not in found:
                path.unlink()


if __name__ == "__main__":
    declare_constants()
    found = kernels()
    remove_leftovers(found)
    # Cython translates in several processes: those that are not forked would import this file again.
    multiprocessing.set_start_method("fork", force=True)
    setup(
        ext_modules=cythonize(
            wanted(found),
            build_dir=str(MADE),
            compiler_directives={"language_level": 3, "show_performance_hints": False},
            show_all_warnings=False,
            quiet=True,
            nthreads=JOBS,
            shared_utility_qualified_name=SHARED,
        ),
        cmdclass={"install_data": InstallManualPages},
        data_files=[(MANUAL, [])],
        options={
            "build_ext": {"parallel": JOBS},
            "bdist_wheel": {"py_limited_api": "cp311" if STABLE_ABI else False},
        },
    )
