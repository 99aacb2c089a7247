"""Options of ``undwarf record`` and what it shows while it runs, without recording."""

import io

import click
import pytest

from undwarf.cli.record import command
from undwarf.cli.record_progress import Progress
from undwarf.errors import UsageError
from undwarf.live import perf_event as pe


def parsed(*arguments: str) -> dict[str, object]:
    return command.make_context("record", list(arguments)).params


@pytest.mark.parametrize(
    ("arguments", "level", "program"),
    [
        (["-z", "./prog", "-z"], 1, ("./prog", "-z")),
        (["-z19", "./prog"], 19, ("./prog",)),
        (["--compression-level", "--", "./prog"], 1, ("./prog",)),
        (["--compression-level=3", "./prog"], 3, ("./prog",)),
        (["-o", "-z", "./prog"], None, ("./prog",)),
    ],
)
def test_a_level_needs_no_value(arguments: list[str], level: int | None, program: tuple[str, ...]):
    found = parsed(*arguments)
    assert (found["level"], found["command"]) == (level, program)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("--switch-output", {"on_signal": True}),
        ("--switch-output=signal", {"on_signal": True}),
        ("--switch-output=2M", {"size": 2 << 20}),
        ("--switch-output=5m", {"seconds": 300.0}),
        ("--switch-output=30s", {"seconds": 30.0}),
    ],
)
def test_output_is_switched_by_signal_size_or_time(text: str, when: dict[str, object]):
    assert parsed(text, "./prog")["switch"] == when


@pytest.mark.parametrize("text", ["x", "10", "0s", "-1s", "0M", "1.5s", "²s", ""])
def test_output_is_switched_by_nothing_else(text: str):
    with pytest.raises(click.BadParameter):
        parsed(f"--switch-output={text}", "./prog")


@pytest.mark.parametrize(
    ("text", "size"), [("128", 128 * 4096), ("65536", 65536), ("8M", 8 << 20), ("512K", 512 << 10)]
)
def test_small_numbers_of_a_buffer_are_pages(text: str, size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mmap.PAGESIZE", 4096)
    assert parsed("-m", text, "./prog")["buffer"] == size


def test_options_for_what_is_always_so_change_nothing():
    quiet = parsed("-T", "-P", "-R", "-N", "--sample-cpu", "--buildid-all", "./prog")
    assert quiet == parsed("./prog")


@pytest.mark.parametrize(
    ("text", "bits"), [("any", 8), ("any_call,u", 0x11), ("k", 0xA), ("ind_call,cond,save_type", 0x10440)]
)
def test_branches_have_the_names_and_bits_of_perf(text: str, bits: int):
    assert pe.branch_filter(text) == bits


def test_branches_of_no_kind_are_a_usage_error():
    with pytest.raises(UsageError, match="no branches 'every'"):
        pe.branch_filter("any,every")


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


class Recorder:
    """A recording that goes on."""

    class writer:
        written = 2_500_000

    samples, lost = 12_345, 6


def progress(monkeypatch: pytest.MonkeyPatch, sink: io.StringIO, moments: list[float], **options: bool) -> str:
    """What is written when it is asked to at these seconds after the begin."""
    now = [0.0]
    monkeypatch.setattr("sys.stderr", sink)
    one = Progress(options.get("quiet", False), options.get("shared", False), lambda: now[0], 100)
    one.recorder = Recorder()
    for moment in moments:
        now[0] = moment
        one.tick()
    one.clear()
    return sink.getvalue()


def test_a_line_shows_time_samples_losses_and_size(monkeypatch: pytest.MonkeyPatch):
    text = progress(monkeypatch, Terminal(), [0.1, 3.0, 3.1])
    assert text == "\rrecording for 3 s, 12,345 samples, 6 lost, 2.50 MB; Ctrl-C ends it\x1b[K\r\x1b[K"


def test_beside_a_program_s_output_lines_are_whole_and_few(monkeypatch: pytest.MonkeyPatch):
    text = progress(monkeypatch, Terminal(), [float(second) for second in range(200)], shared=True)
    assert "\r" not in text
    assert [int(line.split()[2]) for line in text.splitlines()] == [2, 5, 10, 20, 30, 60, 120, 180]


@pytest.mark.parametrize(("sink", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_shown_without_a_terminal_or_with_quiet(monkeypatch, sink: io.StringIO, quiet: bool):
    assert progress(monkeypatch, sink, [1.0, 5.0, 60.0], quiet=quiet) == ""
