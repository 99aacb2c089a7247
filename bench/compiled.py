"""Modules of this folder that are Cython in pure-Python form, compiled when they are first needed.

They share what Cython needs for typed buffers with the kernels of undwarf (see setup.py)."""

import fcntl
import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "build" / "bench"


def compiled(name: str) -> ModuleType:
    """The module ``name`` of this folder; compiled again when it or a ``.pxd`` of the folder is newer."""
    made = OUT / f"{name}.so"
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [HERE / f"{name}.py", *HERE.glob("*.pxd")]
        if not made.exists() or made.stat().st_mtime < max(one.stat().st_mtime for one in sources):
            _compile(name, made)
    loader = importlib.machinery.ExtensionFileLoader(name, str(made))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _compile(name: str, made: Path) -> None:
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    extension = Extension(name, [str(HERE / f"{name}.py")], extra_compile_args=["-O2", "-g0", "-w"])
    modules = cythonize(
        [extension],
        build_dir=str(OUT),
        include_path=[str(HERE)],
        compiler_directives={"show_performance_hints": False},
        quiet=True,
        show_all_warnings=False,
        shared_utility_qualified_name="undwarf._shared",
    )
    command = build_ext(Distribution({"ext_modules": modules}))
    command.build_lib = command.build_temp = str(OUT)
    command.ensure_finalized()
    command.run()
    Path(command.get_ext_fullpath(name)).rename(made)
