"""What was mistyped, or is called otherwise by perf: errors of one shape that say what to try."""

from pathlib import Path

import pytest
from tests.support.commands import Run, recording, two_events

from undwarf.cli.main import show_warning


def said(undwarf: Run, *arguments: object) -> dict[str, str]:
    """The lines of an error of usage: error, why, try."""
    done = undwarf(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return dict(line.strip().split(": ", 1) for line in done.stderr.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["report", "--nonsense"],
        ["report", "-g", "nonsense"],
        ["report", "-s"],
        ["report", "a", "b"],
        ["fold", "--pid", "x"],
        ["fold", "--time", "x"],
        ["fold", "--weight", "x"],
        ["tables", "nonsense"],
        ["tables", "dump"],
        ["completion", "tcsh"],
    ],
)
def test_all_errors_of_usage_have_one_shape(undwarf: Run, arguments: list[str]) -> None:
    lines = said(undwarf, *arguments)
    assert list(lines) in (["error", "try"], ["error", "why", "try"])
    assert lines["try"]


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("repor", "undwarf report"),
        ("flame", "undwarf flamegraph"),
        ("stackcollapse", "undwarf fold"),
        ("annotate", "undwarf report --source FUNCTION --asm"),
        ("evlist", "undwarf info lists the events"),
        ("my.data", "undwarf report my.data"),
    ],
)
def test_a_command_that_is_not_there_is_answered_with_one_that_is(undwarf: Run, word: str, command: str) -> None:
    assert said(undwarf, word) == {**said(undwarf, word), "error": f"undwarf has no command {word!r}", "try": command}


def test_a_group_offers_its_own_commands(undwarf: Run) -> None:
    assert said(undwarf, "tables", "dmp")["try"] == "undwarf tables dump"


@pytest.mark.parametrize(
    ("option", "instead"),
    [("--sot", "--sort"), ("--percent", "--percent-limit"), ("--header", "undwarf info"), ("-G", "-g caller")],
)
def test_an_option_that_is_not_there_is_answered_with_one_that_is(undwarf: Run, option: str, instead: str) -> None:
    assert said(undwarf, "report", option)["try"].startswith(instead)


def test_options_of_perf_record_are_not_those_of_its_report(undwarf: Run) -> None:
    assert said(undwarf, "record", "-I")["try"] == "undwarf record --help shows all options"
    assert said(undwarf, "record", "--per-thread")["try"].startswith("-t TID")


def test_a_key_that_is_not_there_is_answered_with_near_ones_first(undwarf: Run, perf_data: Path) -> None:
    assert said(undwarf, "report", "-s", "com", perf_data)["try"].startswith("sort keys are comm, ")


@pytest.mark.parametrize(
    "options",
    [
        ["--stdio"],
        ["--force"],
        ["-g", "graph,5,caller"],
        ["-g", "caller,5,function,percent"],
        ["--sort", "comm,dso,sym"],
        ["-F", "overhead_children,overhead,comm,dso,sym"],
    ],
)
def test_options_as_perf_has_them_change_nothing(undwarf: Run, perf_data: Path, options: list[str]) -> None:
    done = undwarf("report", *options, "-i", perf_data)
    assert (done.returncode, done.stdout) == (0, undwarf("report", perf_data).stdout)


def test_fields_of_perf_are_columns(undwarf: Run, perf_data: Path) -> None:
    shown = undwarf("report", "-g", "none", "-F", "overhead,sample,dso", perf_data).stdout
    assert shown == undwarf("report", "-g", "none", "--no-children", "-n", "-s", "dso", perf_data).stdout


@pytest.mark.parametrize(("short", "long"), [("-c", "--comm"), ("-d", "--dsos"), ("-S", "--symbols"), ("-C", "--cpu")])
def test_short_options_are_those_of_perf(undwarf: Run, perf_data: Path, short: str, long: str) -> None:
    assert undwarf("fold", short, "0", perf_data).stderr == undwarf("fold", long, "0", perf_data).stderr


def complete(undwarf: Run, words: str) -> list[str]:
    """What bash is offered for the last word."""
    count = len(words.split(" "))
    done = undwarf(_UNDWARF_COMPLETE="bash_complete", COMP_WORDS=f"undwarf {words}", COMP_CWORD=str(count))
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("report two --event p", ["page-faults"]),
        ("report -i two --comm p", ["prog"]),
        ("fold two --tid 1", ["11"]),
        ("script two --pid 1", ["10"]),
        ("flamegraph two --dsos l", ["lib.so"]),
        ("report --sort comm,sn", ["comm,snoop"]),
        ("script --fields +per", ["+period"]),
        ("report two --unwind sf", ["sframe"]),
        ("report nowhere --event p", []),
    ],
)
def test_shells_complete_values(undwarf: Run, tmp_path: Path, words: str, values: list[str]) -> None:
    (tmp_path / "two").write_bytes(two_events())
    assert complete(undwarf, words) == values


def test_threads_of_large_recordings_are_not_completed(
    undwarf: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    from click.shell_completion import BashComplete

    from undwarf import limits
    from undwarf.cli.main import undwarf as root
    from undwarf.cli.report import command
    from undwarf.cli.values import complete_values

    (tmp_path / "large").write_bytes(recording(samples=100))
    complete_values(command)
    completion = BashComplete(root, {}, "undwarf", "_UNDWARF_COMPLETE")
    typed = ["report", str(tmp_path / "large"), "--comms"]
    assert [one.value for one in completion.get_completions(typed, "")] == ["prog"]
    monkeypatch.setattr(limits, "DEFAULT", limits.DEFAULT._replace(completion_bytes=1000))
    assert completion.get_completions(typed, "") == []


def test_help_shows_examples_before_options(undwarf: Run) -> None:
    shown = undwarf("report", "--help").stdout
    titles = ["Examples:", "Options:", "Which samples:", "Where files are:"]
    assert sorted(titles, key=shown.index) == titles


def test_help_lists_commands_in_groups(undwarf: Run) -> None:
    shown = undwarf("--help").stdout
    titles = [
        "Sample running programs:",
        "  record ",
        "Analyse a recording:",
        "  report ",
        "Inspect binaries:",
        "  tables ",
    ]
    assert sorted(titles, key=shown.index) == titles


def test_warnings_look_like_ours_and_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_warning(UserWarning("the sum of \x1b[2J means nothing"), UserWarning, "selection.py", 7)
    assert capsys.readouterr().err == "warning: the sum of \\x1b[2J means nothing\n"
