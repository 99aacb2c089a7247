"""--debuginfod: asked for, or no network at all."""

from pathlib import Path

from tests.support.commands import Run


def test_the_option_needs_a_server(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("info", "--debuginfod", perf_data, DEBUGINFOD_URLS="")
    assert done.returncode == 2
    assert "DEBUGINFOD_URLS is not set" in done.stderr
    assert "try: export DEBUGINFOD_URLS=" in done.stderr


def test_the_variable_alone_needs_none(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("info", perf_data, DEBUGINFOD_URLS="", UNDWARF_DEBUGINFOD="1")
    assert (done.returncode, done.stderr) == (0, "")
