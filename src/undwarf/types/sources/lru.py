"""What was read and may be asked for again, up to so many bytes, least recently used first to go."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


class Kept(Generic[Key, Thing]):
    """Things by key. Each says how many bytes it costs; the one put last always stays."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: OrderedDict[Key, tuple[Thing, int]] = OrderedDict()
        self.used = 0

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: Key) -> Thing | None:
        """What was put under a key, if it is still there."""
        found = self._things.get(key)
        if found is None:
            return None
        self._things.move_to_end(key)
        return found[0]

    def put(self, key: Key, thing: Thing, size: int) -> None:
        """Keep a thing of so many bytes; others go until all fit."""
        before = self._things.pop(key, None)
        if before is not None:
            self.used -= before[1]
        self._things[key] = thing, size
        self.used += size
        while self.used > self._limit and len(self._things) > 1:
            _key, (_thing, gone) = self._things.popitem(last=False)
            self.used -= gone
