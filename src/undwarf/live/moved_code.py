"""Code that running processes copied to anonymous memory over itself: whether the memory has the bytes of the file."""

from undwarf.images import ImageStore
from undwarf.live.process_memory import memory_of
from undwarf.spaces.replay import Replay

__all__ = ["LiveMovedCode"]

_PAGE = 4096
_PAGES = 16
"""Pages of a mapping that are compared with the file."""
_RUNNING = 3
"""Flags of executable memory over a file's code (undwarf.spaces.replay)."""


class LiveMovedCode:
    """Decides for each image of memory over a file's code, when its process first runs in it."""

    def __init__(self, replay: Replay, store: ImageStore) -> None:
        self._replay = replay
        self._store = store
        self._proven: set[int] = set()

    def keep_what_is_proven(self) -> None:
        """Let memory over files' code that has other bytes, or cannot be read, be memory alone."""
        over = self._replay.images_over_files()
        if not over:
            return
        keys, pids = self._replay.keys(), self._replay.key_pids()
        for image, memory in over.items():
            pid = pids[memory]
            if image in self._proven or pid is None:
                continue
            for start, end, offset, number, flags in self._replay.mappings_of(pid):
                if number == image and flags == _RUNNING and self._has_bytes(keys[image], pid, start, end, offset):
                    self._proven.add(image)
                    break
        self._replay.reject(over.keys() - self._proven)

    def _has_bytes(self, key: tuple[int, int], pid: int, start: int, end: int, offset: int) -> bool:
        """Whether most pages of a process's memory are those of the file; pages of nothing but zeros do not count."""
        file = self._store.image(key)
        equal = other = 0
        step = max(_PAGE, (end - start) // _PAGES // _PAGE * _PAGE)
        for at in range(0, end - start, step):
            address = file.address_of_offset(offset + at)
            page = file.read(address, _PAGE) if address is not None else None
            if page is None or not any(page):
                continue
            if memory_of(pid, start + at, start + at + _PAGE) == page:
                equal += 1
            else:
                other += 1
        return equal > 3 * other
