"""The program of a module's ``SOURCE``, of which only BTF is there."""

from pathlib import Path

import pytest
from tests.types.btf_programs import built


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not optimised."""
    return built(tmp_path_factory.mktemp("plain"), "-O0", request.module.SOURCE)


@pytest.fixture(scope="module")
def optimized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Optimised."""
    return built(tmp_path_factory.mktemp("optimized"), "-O2", request.module.SOURCE)
