"""Starting is cheap, and every command explains itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import Run

from undwarf.cli.main import COMMANDS

HEAVY = (
    "numpy",
    "rich",
    "zstandard",
    "textual",
    "duckdb",
    "polars",
    "pyarrow",
    "nanoarrow",
    "pandas",
    "importlib.metadata",
    "asyncio",
    "fsspec",
    "distributed",
    "undwarf.fleet",
    "undwarf.api",
)


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["fleet", "ingest", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from undwarf.cli.main import run
code = run({arguments!r})
print(code, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "0 []"


RECORDING = Path(__file__).parent.parent.parent / "examples" / "recording"
UNUSED = {
    "types --json": (
        "undwarf.outputs.types.text", "undwarf.profile.jit", "undwarf.tables.disk.cache",
        "undwarf.types.dataflow.kernel_control_flow", "undwarf.types.skid_attribution", "undwarf.unwind.aarch64",
        "undwarf.unwind.unwind_tables",
    ),
    "types": ("json", "undwarf.unwind.aarch64", "undwarf.unwind.unwind_tables"),
    "report": ("undwarf.types.resolver", "undwarf.unwind.aarch64", "undwarf.profile.tables", "undwarf.arrow.stream"),
    "fold": ("undwarf.types", "undwarf.unwind.aarch64", "undwarf.fleet", "pyarrow", "fsspec", "distributed"),
}  # fmt: skip  # a table


@pytest.mark.parametrize("command", UNUSED)
def test_what_a_command_does_not_need_is_not_loaded(command: str) -> None:
    arguments = [*command.split(), "--no-cache", "--symfs", str(RECORDING), str(RECORDING / "words.data")]
    code = f"""
import sys
sys.argv = ["/bin/undwarf", *{arguments!r}]
from undwarf.cli.main import run
assert run(sys.argv[1:]) == 0
print([name for name in {UNUSED[command]!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_help_names_every_command(undwarf: Run) -> None:
    done = undwarf("--help")
    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_examples(undwarf: Run, name: str) -> None:
    done = undwarf(name, "--help")
    assert done.returncode == 0
    assert "Examples:\n" in done.stdout
    assert f"  undwarf {name}" in done.stdout


def test_the_summary_of_a_command_is_that_of_its_help(undwarf: Run) -> None:
    for name, summary in COMMANDS.items():
        assert summary.split(".")[0][:40] in " ".join(undwarf(name, "--help").stdout.split()), name


def test_version(undwarf: Run) -> None:
    from undwarf import __version__

    assert undwarf("--version").stdout == f"undwarf, version {__version__}\n"


@pytest.mark.parametrize(
    ("shell", "text"), [("bash", "complete -o nosort"), ("zsh", "#compdef undwarf"), ("fish", "complete --no-files")]
)
def test_completion_scripts(undwarf: Run, shell: str, text: str) -> None:
    done = undwarf("completion", shell)
    assert done.returncode == 0
    assert text in done.stdout


def test_completion_knows_the_commands(undwarf: Run) -> None:
    done = undwarf(_UNDWARF_COMPLETE="bash_complete", COMP_WORDS="undwarf repo", COMP_CWORD="1")
    assert done.stdout == "plain,report\n"


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"]])
def test_help_for_a_reader_who_leaves(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "undwarf", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None and started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(60) == 0


@pytest.mark.parametrize(
    ("words", "kind"),
    [("report x", "file"), ("report --symfs x", "dir"), ("tables dump x", "file"), ("flamegraph -o x", "file")],
)
def test_completion_knows_files(undwarf: Run, words: str, kind: str) -> None:
    count = len(words.split())
    done = undwarf(_UNDWARF_COMPLETE="bash_complete", COMP_WORDS=f"undwarf {words}", COMP_CWORD=str(count))
    assert done.stdout == f"{kind},x\n"


@pytest.mark.parametrize(("force", "never", "coloured"), [("1", "", True), ("", "", False), ("1", "1", False)])
def test_colours_in_a_pipe_are_asked_for(undwarf: Run, perf_data: Path, force: str, never: str, coloured: bool) -> None:
    done = undwarf("report", perf_data, FORCE_COLOR=force, NO_COLOR=never)
    assert ("\x1b[" in done.stdout) is coloured


def test_an_interrupt_while_modules_are_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        # Shells start what runs in the background with interrupts ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
