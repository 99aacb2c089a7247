"""Apps that leave nothing behind."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from undwarf.terminal_ui import opened_file, profile_app


@pytest.fixture(autouse=True)
def workers_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End the threads that compute beside the screen: processes of tests go on, and may not fork with them."""
    started: list[ThreadPoolExecutor] = []

    def start(*values: Any) -> ThreadPoolExecutor:
        started.append(ThreadPoolExecutor(*values))
        return started[-1]

    for module in (opened_file, profile_app):
        monkeypatch.setattr(module, "ThreadPoolExecutor", start)
    yield
    for worker in started:
        worker.shutdown()
