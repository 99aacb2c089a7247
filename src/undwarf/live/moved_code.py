"""Code that running processes copied to anonymous memory at its own addresses (as for huge pages): the copy counts as
the file's code if it has the bytes of the file."""

from collections.abc import Callable
from functools import partial

from undwarf.elf import ElfFile
from undwarf.images import Image, ImageStore
from undwarf.live.process_memory import memory_of
from undwarf.spaces.mapping_flags import EXECUTABLE, OVER_FILE
from undwarf.spaces.replay import Replay

__all__ = ["LiveMovedCode", "has_bytes_of"]

_PAGE = 4096
_COMPARED_PAGES = 16
"""Pages of a mapping that are compared with the file, evenly spread."""


class LiveMovedCode:
    """Decides for each image of anonymous memory over a file's code, when its process first runs in it."""

    def __init__(self, replay: Replay, store: ImageStore) -> None:
        self._replay = replay
        self._store = store
        self._proven: set[int] = set()

    def reject_unproven(self) -> None:
        """Treat memory over files' code as anonymous if it has other bytes than the file, or cannot be read."""
        over = self._replay.images_over_files()
        if not over:
            return
        keys, pids = self._replay.keys(), self._replay.key_pids()
        for image, memory in over.items():
            pid = pids[memory]
            if image in self._proven or pid is None:
                continue
            for start, end, offset, number, flags in self._replay.mappings_of(pid):
                if number == image and flags == EXECUTABLE | OVER_FILE:
                    file = self._store.image(keys[image])
                    if has_bytes_of(file, partial(memory_of, pid), start, end, offset):
                        self._proven.add(image)
                        break
        self._replay.reject(over.keys() - self._proven)


def has_bytes_of(file: Image | ElfFile, read: Callable[[int, int], bytes], start: int, end: int, offset: int) -> bool:
    """Whether the memory from ``start`` to ``end`` has the bytes of a file from ``offset`` on: over three quarters of
    the compared pages are equal; pages of zeros do not count. ``read(start, end)`` reads memory."""
    equal = other = 0
    step = max(_PAGE, (end - start) // _COMPARED_PAGES // _PAGE * _PAGE)
    for at in range(0, end - start, step):
        address = file.address_of_offset(offset + at)
        page = file.read(address, _PAGE) if address is not None else None
        if page is None or not any(page):
            continue
        if read(start + at, start + at + _PAGE) == page:
            equal += 1
        else:
            other += 1
    return equal > 3 * other
