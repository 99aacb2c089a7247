"""The program of a module's ``SOURCE``, of which only BTF is there; types and code made by hand."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import built
from tests.support.types.fakes import Fake
from tests.support.types.tracked import Touched, touches


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def touched(fake: Fake, tmp_path: Path) -> Touched:
    """The operands of a piece of code in order: `node.key`, `frame-16`, or `?`."""
    return touches(fake, tmp_path)


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not optimised."""
    return built(tmp_path_factory.mktemp("plain"), "-O0", request.module.SOURCE)


@pytest.fixture(scope="module")
def optimized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Optimised."""
    return built(tmp_path_factory.mktemp("optimized"), "-O2", request.module.SOURCE)
