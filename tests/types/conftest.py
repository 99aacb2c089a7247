"""Fixtures: types by hand, data flow of assembled code, and programs with BTF compiled from a module's ``SOURCE``."""

import weakref
from pathlib import Path
from typing import Any

import pytest
from tests.support.types.btf_programs import built
from tests.support.types.fakes import Fake
from tests.support.types.tracked import Touched, touches

from undwarf.types import resolver
from undwarf.types.dataflow.function_dataflow import Tracker


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def touched(fake: Fake, tmp_path: Path) -> Touched:
    """The operands of a piece of code in order: `node.key`, `frame-16`, or `?`."""
    return touches(fake, tmp_path)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> "list[weakref.ref[Tracker]]":
    """The data flows that resolvers compute during a test, in order; one whose function was dropped is dead."""
    computed: list[weakref.ref[Tracker]] = []

    class Counted(Tracker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            computed.append(weakref.ref(self))

    monkeypatch.setattr(resolver, "Tracker", Counted)
    return computed


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not optimised."""
    return built(tmp_path_factory.mktemp("plain"), "-O0", request.module.SOURCE)


@pytest.fixture(scope="module")
def optimized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Optimised."""
    return built(tmp_path_factory.mktemp("optimized"), "-O2", request.module.SOURCE)
