"""Samples in which evidence of copied code is looked for."""

from types import SimpleNamespace

import pytest

from undwarf.profile.moved_code import _samples_with  # private: which samples prove nothing is not shown

MAPPING = (0x1000, 0x2000, 0, 5)


@pytest.mark.parametrize(("most", "expected"), [(3, [0, 34, 68]), (100, list(range(100))), (1000, list(range(100)))])
def test_so_many_samples_are_looked_at_spread_over_time(most: int, expected: list[int]) -> None:
    columns = {"snapshot_at": [0], "snapshot_count": [1], "lists": [7]}
    spaces = SimpleNamespace(
        replay=SimpleNamespace(mappings=SimpleNamespace(columns=lambda: columns)), space_of=[0] * 100
    )
    records = SimpleNamespace(sample_order=range(100))
    found = list(_samples_with({7: [MAPPING]}, records, spaces, most))
    assert found == [(MAPPING, sample) for sample in expected]
