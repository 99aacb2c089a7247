"""Snapshots: what a command prints, kept beside the tests; ``pytest --refresh`` writes them anew."""

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# Timings never decide a test: a busy machine draws and runs examples slowly.
hypothesis.settings.register_profile("undwarf", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("undwarf")

# Tests start without what other runs kept, and leave nothing where users keep it.
os.environ["UNDWARF_CACHE_DIR"] = "off"
os.environ["UNDWARF_CONFIG"] = "off"
# What nobody foresaw in a file fails the test, which users see as a defect of that file.
os.environ["UNDWARF_TRACEBACK"] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # Commands end with what they made frozen, which tools that look at the end for who refers to what do not expect.
    gc.unfreeze()
    skipped = _skipped(session.config)
    if session.exitstatus == pytest.ExitCode.OK and skipped > session.config.getoption("--most-skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(config: pytest.Config) -> None:
    if (skipped := _skipped(config)) > (most := config.getoption("--most-skipped")):
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"{skipped} tests were skipped, more than --most-skipped={most}; -rs lists why", red=True)


def _skipped(config: pytest.Config) -> int:
    """How many tests were skipped; 0 in the processes of pytest-xdist, which report to the first one."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return len(reporter.stats.get("skipped", ())) if reporter and not hasattr(config, "workerinput") else 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write all snapshots anew; look at the difference")
    parser.addoption(
        "--most-skipped", type=int, default=sys.maxsize, metavar="N", help="fail if more than N tests are skipped"
    )


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compares a text with the snapshot named after the test."""
    folder = Path(request.path).parent / "snapshots"
    path = folder / f"{request.node.name.removeprefix('test_')}.txt"

    def compare(text: str) -> None:
        if request.config.getoption("--refresh"):
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "pytest --refresh writes the snapshot anew"

    return compare
