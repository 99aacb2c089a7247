"""The bar that a terminal shows while work takes long."""

import sys
import time

import pytest

from undwarf.cli.common import Progress


def test_work_goes_on_after_the_bar_was_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    begin = time.monotonic()
    progress = Progress()
    monkeypatch.setattr(time, "monotonic", lambda: begin + 2)  # seconds that it has taken so far
    for step in ("walking stacks", "following types", "following types"):
        progress(step, 1, 2)
        progress.close()
