"""Checks what `make dist` built as users get it: installed from the wheel, where there is no compiler.

    python .ci/check_dist.py dist          # the only sdist and the only wheel in this folder
    python .ci/check_dist.py --installed   # the undwarf of this interpreter; cibuildwheel's test command

Prints what it measured. The first check that fails ends it with status 1 and the reason.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "examples" / "recording"
MOST_BYTES = 25_000_000
MOST_SECONDS = 10.0
"""For the installation with all dependencies, from a package index that is near."""
PORTABLE = re.compile(r"(manylinux|musllinux)_\d+_\d+_")
MOST_IMPORT_SECONDS = 0.03
IMPORT = """
import sys, sysconfig, time
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in ("duckdb", "polars", "pyarrow", "nanoarrow"):
            sys.exit(f"`import undwarf` asks for {name}")
sys.meta_path.insert(0, Refuse())
start = time.perf_counter()
import undwarf
print(time.perf_counter() - start)
if not undwarf.__file__.startswith(sysconfig.get_path("platlib")):
    sys.exit(f"not the installed undwarf: {undwarf.__file__}")
undwarf.open
"""
EXAMPLE_NEEDS = ("duckdb>=1.5", "polars>=1.30")
"""Packages that the examples of docs/how-to/library.md import beside undwarf."""


def check(right: bool, reason: str) -> None:
    if not right:
        sys.exit(f"check_dist: {reason}")


def timed(command: list[str], cwd: str, path: str = os.environ["PATH"]) -> tuple[float, str]:
    """Seconds and standard output of a command that must succeed."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    check(not done.returncode, f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return seconds, done.stdout


def check_sources(archive: Path, names: set[str]) -> None:
    """Every source under version control is among these names, paths from `src`."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT / "src", capture_output=True, text=True, check=True).stdout
    missing = set(tracked.split()) - names
    check(bool(tracked) and not missing, f"not in {archive.name}: {sorted(missing)}")


def check_sdist(path: Path) -> None:
    """All sources, and nothing that was compiled."""
    with tarfile.open(path) as archive:
        names = archive.getnames()
    check_sources(path, {name.partition("/src/")[2] for name in names})
    compiled = [name for name in names if name.endswith((".c", ".so", ".pyc"))]
    check(not compiled, f"compiled files in {path.name}: {compiled}")
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def check_wheel(path: Path) -> None:
    """A tag for other machines and versions, a bounded size, the whole package alone, kernels compiled, stripped."""
    size = path.stat().st_size
    check("-cp311-abi3-" in path.name, f"{path.name} is for one version of Python only")
    check(bool(PORTABLE.search(path.name)), f"{path.name} is for this machine only")
    check(size <= MOST_BYTES, f"{path.name} has {size} bytes, more than {MOST_BYTES}")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        foreign = [name for name in names if not name.startswith("undwarf") or name.endswith((".c", ".o", ".pyc"))]
        sources = [name for name in names if name.endswith(".py")]
        kernels = {name[:-3] for name in sources if archive.read(name).startswith(b"# cython:")}
        compiled = {name.partition(".")[0]: archive.read(name) for name in names if name.endswith(".so")}
        installed_size = sum(one.file_size for one in archive.infolist())
    check_sources(path, set(names))
    check(not foreign, f"{path.name} has {foreign}")
    check(bool(kernels) and kernels <= compiled.keys(), f"not compiled: {sorted(kernels - compiled.keys())}")
    symbols = [name for name, content in compiled.items() if b".symtab\0" in content]
    check(not symbols, f"not stripped: {symbols}")
    print(f"{path.name}: {size / 1e6:.1f} MB, installed {installed_size / 1e6:.1f} MB, {len(kernels)} kernels")


def check_installation(wheel: Path) -> None:
    """The wheel and its dependencies in a new environment whose programs are all that can be found."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        programs = str(Path(directory) / "bin")
        compilers = [name for name in ("cc", "gcc", "clang", "c99") if shutil.which(name, path=programs)]
        check(not compilers, f"there is a compiler: {compilers}")
        pip = [f"{programs}/pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        seconds, _ = timed([*pip, str(wheel)], directory, programs)
        print(f"installed in {seconds:.1f} s")
        check(seconds < MOST_SECONDS, f"the installation took {MOST_SECONDS:.0f} s or more")
        print(timed([f"{programs}/python", __file__, "--installed"], directory, programs)[1], end="")
        timed([*pip, *EXAMPLE_NEEDS], directory, programs)
        check_example(f"{programs}/python", directory, programs)


def check_example(python: str, directory: str, programs: str) -> None:
    """The examples of the README and of the library's page run, one after the other, on the recording of the
    repository."""
    shutil.copy(RECORDING / "words.data", Path(directory) / "perf.data")
    for page in (ROOT / "README.md", ROOT / "docs" / "how-to" / "library.md"):
        example = "".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
        _, text = timed([python, "-c", example.replace("/usr/bin/python3", python)], directory, programs)
        check(text.startswith("words ["), f"the examples of {page.name} print\n{text}")
        print(f"the examples of {page.name}: {len(text.splitlines())} lines")


def check_manual() -> None:
    """A manual page for each command of the undwarf of this interpreter."""
    folder = Path(sys.prefix) / "share" / "man" / "man1"
    code = "from undwarf.cli.main import COMMANDS; print(*COMMANDS)"
    commands = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True).stdout
    missing = [name for name in commands.split() if not (folder / f"undwarf-{name}.1").is_file()]
    check(bool(commands) and not missing, f"no manual pages in {folder}: {missing}")
    print(f"manual pages: {len(list(folder.glob('undwarf*.1')))}")


def check_installed() -> None:
    """The undwarf of this interpreter answers, and imports nothing large."""
    check_manual()
    command = str(Path(sys.executable).parent / "undwarf")
    with tempfile.TemporaryDirectory() as directory:
        seconds, version = timed([command, "--version"], directory)
        check(version == f"undwarf, version {metadata.version('undwarf')}\n", f"undwarf --version: {version}")
        print(f"undwarf --version: {seconds:.2f} s")
        findings = json.loads(timed([command, "doctor", "--json"], directory)[1])["findings"]
        (kernels,) = (one for one in findings if one["check"] == "compiled code")
        check(kernels["state"] == "good", kernels["fact"])
        print(kernels["fact"])
        report = [command, "report", "--symfs", str(RECORDING), str(RECORDING / "words.data")]
        for which in ("first", "second"):
            seconds, text = timed(report, directory)
            check("count_word" in text, f"undwarf report does not show count_word:\n{text}")
            print(f"undwarf report, {which} run: {seconds:.2f} s")
        # The first one compiles nothing, since pip has, but reads files that no cache of the system has yet.
        seconds = min(float(timed([sys.executable, "-c", IMPORT], directory)[1]) for _attempt in range(3))
        print(f"import undwarf: {1000 * seconds:.1f} ms")
        check(seconds < MOST_IMPORT_SECONDS, f"`import undwarf` takes {1000 * seconds:.0f} ms")


def main() -> None:
    if sys.argv[1:] == ["--installed"]:
        check_installed()
        return
    check(len(sys.argv) == 2, "the folder with the sdist and the wheel, or --installed")
    (sdist,) = Path(sys.argv[1]).resolve().glob("*.tar.gz")
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    check_sdist(sdist)
    check_wheel(wheel)
    check_installation(wheel)


if __name__ == "__main__":
    main()
