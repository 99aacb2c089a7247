"""How many windows of a recording are mapped at a time when samples are walked again."""

from collections import OrderedDict
from contextlib import contextmanager

import pytest

from undwarf.unwind.haskell_callers import Windows


class Data:
    """Windows of data, each its position; ``open`` are those that are mapped now, ``most`` how many ever were."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.most = 0

    @contextmanager
    def window(self, position: int, _length: int):
        self.open.append(position)
        self.most = max(self.most, len(self.open))
        yield memoryview(bytes((position,)))
        self.open.remove(position)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_only_so_many_windows_stay_mapped(most: int) -> None:
    data = Data()
    windows = Windows(data, [(i, 1, 10 * i, 10 * i + 10) for i in range(5)], [10 * i for i in range(5)], OrderedDict())
    for sample in (0, 9, 19, 20, 45, 0, 39, 38):
        window, position = windows.window(sample, most)
        assert (position, bytes(window)) == (sample // 10, bytes((sample // 10,)))
    assert data.most == most
    windows.close()
    assert data.open == []
