"""Inflates compressed sections of images' files in a thread before they are needed."""

import contextlib
from collections.abc import Callable, Iterable, Sequence

from undwarf.elf.background_inflate import prefetch_all
from undwarf.errors import UndwarfError
from undwarf.images.image import ImageStore
from undwarf.images.image_kind import ImageKind

__all__ = ["unpack_ahead"]

_MOST = 128 << 20
"""Maximum bytes inflated ahead; they stay in memory until used."""


def unpack_ahead(
    store: ImageStore, numbers: Iterable[int], sections: Iterable[Sequence[str]], most: int = _MOST
) -> Callable[[], None]:
    """Start inflating debugging sections of images; the result is called to wait for the end.

    The first ``sections`` of all images come before the second ones of any. Files that debuginfod would have to fetch
    are left out.
    """
    files = []
    for number in numbers if store.finder.debuginfod is None else ():
        image = store[number]
        with contextlib.suppress(UndwarfError), store.finder.defects.contained(image.path):
            elf = image.elf if image.kind is ImageKind.FILE else None
            described = elf if elf is None or elf.section(".debug_info") is not None else image.debug_elf
            if described is not None:
                files.append(described)
    deferred = []
    for names in sections:
        for file in files:
            for name in names:
                size = file.section_size(name)
                one = file.defer(name) if size <= most else None
                if one is not None:
                    most -= size
                    deferred.append(one)
    return prefetch_all(deferred)
