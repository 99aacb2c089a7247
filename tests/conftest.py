"""Snapshots: what a command prints, kept beside the tests; ``pytest --refresh`` writes them anew."""

import gc
import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# Timings never decide a test: a busy machine draws and runs examples slowly.
hypothesis.settings.register_profile("undwarf", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("undwarf")

# Tests start without what other runs kept, and leave nothing where users keep it.
os.environ["UNDWARF_CACHE_DIR"] = "off"
# What nobody foresaw in a file fails the test, which users see as a defect of that file.
os.environ["UNDWARF_TRACEBACK"] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    # Commands end with what they made frozen, which tools that look at the end for who refers to what do not expect.
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write all snapshots anew; look at the difference")


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
