"""Least recently used cache, limited in bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["LruCache"]

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


class LruCache(Generic[Key, Thing]):
    """Values by key, each with a size in bytes. The one added last always stays."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: OrderedDict[Key, tuple[Thing, int]] = OrderedDict()
        self.used = 0

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: Key) -> Thing | None:
        """The value of a key, None if it is not cached."""
        found = self._things.get(key)
        if found is None:
            return None
        self._things.move_to_end(key)
        return found[0]

    def put(self, key: Key, thing: Thing, size: int) -> None:
        """Add a value of ``size`` bytes, and drop the least recently used ones until the limit is met."""
        before = self._things.pop(key, None)
        if before is not None:
            self.used -= before[1]
        self._things[key] = thing, size
        self.used += size
        while self.used > self._limit and len(self._things) > 1:
            _key, (_thing, gone) = self._things.popitem(last=False)
            self.used -= gone
