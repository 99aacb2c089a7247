"""Compiles the kernels: the Python files whose first line is a ``# cython:`` directive.

All metadata is in pyproject.toml. ``UNDWARF_KERNELS=perfdata.decode,unwind.walk`` limits a development
build to those modules, ``none`` leaves all of them out: `make` installs like that and builds in place afterwards, where
only what has changed is compiled again.
"""

import multiprocessing
import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCE = Path("src")
SHARED = "undwarf._shared"
"""What all kernels need of Cython, typed buffers above all, as one module: in each it was half of the build."""
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def kernels() -> list[Extension]:
    """One extension module for each compiled source file."""
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
    if wanted and any((SOURCE / "undwarf").glob("_shared.*.so")):
        return found
    return [*found, Extension(SHARED, ["src/undwarf/_shared.c"], extra_compile_args=["-O2", "-g0", "-w"])]


if __name__ == "__main__":
    # Cython translates in several processes; forked ones need not import this file, and keep what it was told.
    multiprocessing.set_start_method("fork", force=True)
    setup(
        ext_modules=cythonize(
            kernels(),
            build_dir="build/cython",
            compiler_directives={"language_level": 3, "show_performance_hints": False},
            show_all_warnings=False,
            quiet=True,
            nthreads=JOBS,
            shared_utility_qualified_name=SHARED,
        ),
        options={"build_ext": {"parallel": JOBS}},
    )
