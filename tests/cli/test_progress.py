"""The bar that a terminal shows while work takes long."""

import sys

import pytest

from undwarf.cli.common import Progress


def test_work_goes_on_after_the_bar_was_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress()
    progress._start -= 2  # it has taken two seconds so far
    for step in ("walking stacks", "following types", "following types"):
        progress(step, 1, 2)
        progress.close()
