"""Names of addresses in files, through the symbol resolver."""

from collections import namedtuple
from pathlib import Path

from undwarf.column import zeros
from undwarf.images import Finder, ImageStore
from undwarf.symbols import Functions, Resolver

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))


def store_of(*paths: "Path | str", **options: object) -> ImageStore:
    finder = Finder(debug_dirs=(), buildid_dir="", **options)
    store = ImageStore([str(path).encode() for path in paths], [Identity()], None, finder)
    for i in range(len(paths)):
        store.image((i, 0))
    return store


def resolve(resolver: Resolver, frames: list[tuple[int, int]]) -> Functions:
    images, addresses = zeros("I", len(frames)), zeros("Q", len(frames))
    for i, (image, address) in enumerate(frames):
        images[i], addresses[i] = image, address
    return resolver.resolve(images, addresses)


def names(found: Functions) -> list[str]:
    return [found.name[number] for number in found.number]
