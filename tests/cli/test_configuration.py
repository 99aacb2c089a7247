"""The configuration file: what it sets, what counts before it, and its errors."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.support.commands import Run

from undwarf.cli.configuration import MOST_BYTES, finding, load, long_names
from undwarf.cli.main import COMMANDS, LazyGroup
from undwarf.cli.main import undwarf as group


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The file that ``XDG_CONFIG_HOME=tmp_path`` names; its folder exists."""
    (tmp_path / "undwarf").mkdir()
    return tmp_path / "undwarf" / "config.toml"


def folded(root: str) -> str:
    return {"none": "[prog];[prog] 3\n", "comm": "prog;[prog];[prog] 3\n", "pid": "prog-10;[prog];[prog] 3\n"}[root]


def test_it_sets_defaults_of_a_command(undwarf: Run, perf_data: Path, config: Path) -> None:
    config.write_text('[fold]\nroot = "pid"\n')
    assert undwarf("fold", perf_data, UNDWARF_CONFIG=str(config)).stdout == folded("pid")


def test_the_command_line_counts_first(undwarf: Run, perf_data: Path, config: Path) -> None:
    config.write_text('[fold]\nroot = "pid"\n')
    assert undwarf("fold", "--root", "none", perf_data, UNDWARF_CONFIG=str(config)).stdout == folded("none")


@pytest.mark.parametrize(("variable", "wanted"), [("0", False), ("", True)])
def test_the_environment_counts_first(
    config: Path, monkeypatch: pytest.MonkeyPatch, variable: str, wanted: bool
) -> None:
    config.write_text("[files]\ndebuginfod = true\n")
    monkeypatch.setenv("UNDWARF_CONFIG", str(config))
    monkeypatch.setenv("UNDWARF_DEBUGINFOD", variable)
    configuration, command = load(), group.get_command(click.Context(group), "fold")
    assert configuration is not None and command is not None
    context = command.make_context("fold", [], default_map=configuration.defaults(command, "fold"))
    assert context.params["debuginfod"] is wanted


@pytest.mark.parametrize("named", [{"XDG_CONFIG_HOME": "."}, {"HOME": "home"}])
def test_where_it_is(undwarf: Run, perf_data: Path, tmp_path: Path, named: dict[str, str]) -> None:
    ((variable, folder),) = named.items()
    path = tmp_path / folder / (".config" if variable == "HOME" else "") / "undwarf" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[fold]\nroot = "none"\n')
    environment = {"XDG_CONFIG_HOME": "", variable: str(tmp_path / folder)}
    done = undwarf("fold", perf_data, without=("UNDWARF_CONFIG",), **environment)
    assert done.stdout == folded("none")


@pytest.mark.parametrize("off", ["", "off"])
def test_none_is_read(undwarf: Run, perf_data: Path, config: Path, tmp_path: Path, off: str) -> None:
    config.write_text("no TOML")
    done = undwarf("fold", perf_data, UNDWARF_CONFIG=off, XDG_CONFIG_HOME=str(tmp_path))
    assert (done.stdout, done.returncode) == (folded("comm"), 0)


def test_no_file_imports_no_parser() -> None:
    code = "import sys\nfrom undwarf.cli.main import run\nrun(['completion', 'bash'])\nprint('tomllib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("text", "what", "why", "hint"),
    [
        ('\ncolur = "never"', "line 2: colur", "there is no such key", "colour or colours"),
        ('[fold]\nrot = "pid"', "line 2: fold.rot", "[fold] has no such key", "root"),
        ('[fold]\nqqq = "pid"', "line 2: fold.qqq", "[fold] has no such key", "allowed are weight, root, by, "),
        ('[fold]\nroot = "p"', "line 2: fold.root", "'p' is not one of 'comm', 'pid', 'tid', 'none'", ""),
        ("[fold]\nroot = 3", "line 2: fold.root", "3 is not a text in quotes", ""),
        ("[fold]\nskid = 1", "line 2: fold.skid", "1 is not true or false", ""),
        ("[fold]\njobs = true", "line 2: fold.jobs", "true is not a whole number", ""),
        ("[fold]\njobs = 1000", "line 2: fold.jobs", "1000 is not in the range 1<=x<=64", ""),
        ("[fold]\ndebug-dir = [1]", "line 2: fold.debug-dir", "1 is not a text in quotes, or a list of these", ""),
        ("fold = 1", "line 1: fold", "1 is no table of options", "[fold]"),
        ("[flod]", "line 1: flod", "there is no such key", "fold"),
        ("[files]\nsymfs = 1", "line 2: files.symfs", "1 is not a text in quotes", ""),
        ('[files]\nsymf = "x"', "line 2: files.symf", "[files] has no such key", "symfs"),
        ('[colours]\nhot = "bold pnik"', "line 2: colours.hot", "'pnik' is no style", "none, or words of bold, "),
        ("[colours]\nhot = 1", "line 2: colours.hot", "1 is no style", "none, or words of bold, "),
        ('[colours]\nkernl = "red"', "line 2: colours.kernl", "[colours] has no such key", "kernel"),
        ('colour = "blue"', "line 1: colour", "'blue' is not one of auto, always, never", ""),
        ("pager = 1", "line 1: pager", "1 is neither a command nor true or false", ""),
        ("a = ", "", "Invalid value", "https://toml.io describes it"),
        ('\na = "\x80"', "line 2: not UTF-8", "", "save it as UTF-8"),
        ("[" * 5000, "", "", "https://toml.io describes it"),
        ("#" * (MOST_BYTES + 1), "", "it has more than 1,048,576 bytes", ""),
    ],
)  # fmt: skip  # a table
def test_errors(undwarf: Run, perf_data: Path, config: Path, text: str, what: str, why: str, hint: str) -> None:
    config.write_text(text, encoding="latin-1")
    done = undwarf("fold", perf_data, UNDWARF_CONFIG=str(config))
    assert (done.returncode, done.stdout) == (2, "")
    lines = dict(line.strip().split(": ", 1) for line in done.stderr.splitlines())
    assert str(config) in lines["error"] and what in lines["error"]
    assert why in lines.get("why", "")
    assert lines.get("try", "").startswith(hint)


def test_a_command_without_options_says_so(undwarf: Run, config: Path) -> None:
    config.write_text("[schema]\njson = true\n")
    done = undwarf("schema", UNDWARF_CONFIG=str(config))
    assert done.stderr.endswith(
        "schema.json\n  why: [schema] has no such key\n  try: it has no options that can be set\n"
    )


def test_a_file_that_is_named_must_exist(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("fold", perf_data, UNDWARF_CONFIG="gone.toml")
    assert (done.returncode, done.stderr.splitlines()[0]) == (3, "error: there is no gone.toml")


def test_help_is_shown_whatever_the_file_has(undwarf: Run, config: Path) -> None:
    config.write_text("no TOML")
    assert undwarf("fold", "--help", UNDWARF_CONFIG=str(config)).returncode == 0


def test_errors_of_options_name_the_file(undwarf: Run, perf_data: Path, config: Path) -> None:
    """``--skid`` needs ``--by type``, and nobody sees on the command line why it counts."""
    config.write_text("[fold]\nskid = true\n")
    done = undwarf("fold", perf_data, UNDWARF_CONFIG=str(config))
    assert done.stderr.splitlines()[:2] == [
        f"note: {config} has options for this command too", "error: --skid needs --by type",
    ]  # fmt: skip  # a table


def test_paths_of_files_are_for_recordings_only(undwarf: Run, tmp_path: Path, config: Path) -> None:
    """A profile of another tool needs none, which is an error only on the command line."""
    (tmp_path / "stacks.folded").write_text("main;work 3\n")
    config.write_text(f'[files]\nsymfs = "{tmp_path}"\n')
    assert undwarf("fold", "stacks.folded", UNDWARF_CONFIG=str(config)).stdout == "main;work 3\n"


def test_home_in_paths(undwarf: Run, perf_data: Path, config: Path, tmp_path: Path) -> None:
    config.write_text('[files]\nsymfs = "~/none"\n')
    done = undwarf("fold", perf_data, UNDWARF_CONFIG=str(config), HOME=str(tmp_path))
    assert f"error: --symfs {tmp_path}/none does not exist" in done.stderr


@pytest.mark.parametrize(
    ("text", "environment", "coloured"),
    [
        ('colour = "always"', {}, True),
        ('colour = "always"', {"NO_COLOR": "1"}, False),
        ('colour = "never"', {}, False),
        ('colour = "never"', {"FORCE_COLOR": "1"}, True),
    ],
)
def test_when_there_are_colours(
    undwarf: Run, perf_data: Path, config: Path, text: str, environment: dict[str, str], coloured: bool
) -> None:
    config.write_text(text)
    done = undwarf("report", perf_data, UNDWARF_CONFIG=str(config), **environment)
    assert ("\x1b[" in done.stdout) is coloured


def test_styles(undwarf: Run, perf_data: Path, config: Path) -> None:
    config.write_text('[colours]\nhot = "underline bright-blue"\nheading = "208"\nunknown = "none"\n')
    done = undwarf("report", perf_data, UNDWARF_CONFIG=str(config), FORCE_COLOR="1")
    assert "\x1b[4;94m" in done.stdout and "\x1b[38;5;208m" in done.stdout
    assert "\x1b[m" not in done.stdout


@pytest.mark.parametrize("command", ["report", "doctor", "fold", "info"])
def test_no_command_has_colours_against_the_users_will(undwarf: Run, perf_data: Path, command: str) -> None:
    arguments = [command] if command == "doctor" else [command, perf_data]
    done = undwarf(*arguments, NO_COLOR="1", FORCE_COLOR="1")
    assert done.stdout and "\x1b" not in done.stdout + done.stderr
    failed = undwarf(command, "--no-such-option", NO_COLOR="1", FORCE_COLOR="1")
    assert failed.stderr and "\x1b" not in failed.stderr


def configuration_of(done_stdout: str) -> dict[str, str]:
    (finding,) = (one for one in json.loads(done_stdout)["findings"] if one["check"] == "configuration")
    return dict(finding)


def test_doctor_says_what_it_sets(undwarf: Run, config: Path) -> None:
    config.write_text('pager = false\n[fold]\nroot = "pid"\njobs = 1\n')
    finding = configuration_of(undwarf("doctor", "--json", UNDWARF_CONFIG=str(config)).stdout)
    assert finding["fact"] == f"{config} (UNDWARF_CONFIG) sets pager; [fold] root, jobs"


def test_doctor_checks_the_tables_of_all_commands(undwarf: Run, config: Path) -> None:
    config.write_text("[tables.dump]\nprobs = true\n[top]\nfrequency = 'x'\n")
    finding = configuration_of(undwarf("doctor", "--json", UNDWARF_CONFIG=str(config)).stdout)
    assert finding["state"] == "bad" and "line 2: tables.dump.probs" in finding["fact"]


def test_doctor_says_where_it_would_be(undwarf: Run, tmp_path: Path) -> None:
    done = undwarf("doctor", "--json", without=("UNDWARF_CONFIG",), XDG_CONFIG_HOME=str(tmp_path))
    assert configuration_of(done.stdout)["fact"] == f"none: there is no {tmp_path}/undwarf/config.toml"


def test_every_option_of_a_table_of_files_belongs_to_a_command() -> None:
    from undwarf.cli.configuration import FILES

    assert isinstance(group, LazyGroup)
    context = click.Context(group, info_name="undwarf")
    names: set[str] = set()
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        names.update(one for parameter in command.params for one in long_names(parameter))
    assert names.issuperset(FILES)


def test_the_documented_example_is_right(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "reference" / "configuration.md").read_text()
    config.write_text(page.partition("```toml\n")[2].partition("```")[0])
    monkeypatch.setenv("UNDWARF_CONFIG", str(config))
    found = finding(group)
    assert (found.state, found.fact.count("[report] sort, percent-limit, children")) == ("good", 1)
