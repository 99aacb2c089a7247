"""The file and variable of a data address, computed from the mapping of the file's code: neither mappings of data nor
memory without a file (``.bss``) have to be recorded."""

from bisect import bisect_right

from undwarf.images import Image, ImageKind, ImageStore
from undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE
from undwarf.spaces.sample_spaces import Spaces
from undwarf.types.sources.data_symbols import DataSymbols

__all__ = ["DataPlaces"]

_MAX_SPACES = 256
"""Address spaces whose mappings are remembered."""


class DataPlaces:
    """A function of address space and address, for one recording."""

    def __init__(self, spaces: Spaces, images: ImageStore) -> None:
        self._columns = spaces.replay.mappings.columns()
        self._keys = spaces.replay.keys()
        self._images = images
        self._spans: dict[int, list[tuple[int, int, int, Image]]] = {}
        self._symbols: dict[int, DataSymbols] = {}

    def __call__(self, space: int, address: int) -> tuple[str, str]:
        """(path of the file, variable+offset); either is empty if unknown."""
        spans = self._spans.get(space)
        if spans is None:
            if len(self._spans) >= _MAX_SPACES:
                self._spans.clear()
            spans = self._spans[space] = self._of_space(space)
        at = bisect_right(spans, address, key=lambda span: span[0]) - 1
        if at < 0 or address >= spans[at][1]:
            return "", ""
        _start, _end, bias, image = spans[at]
        symbols = self._symbols.get(image.number)
        if symbols is None and image.elf is not None:
            symbols = self._symbols[image.number] = DataSymbols(image.debug_elf or image.elf)
        held = symbols.variable_at(address - bias) if symbols is not None else None
        if held is None:
            return image.path, ""
        name, start, _size = held
        added = address - bias - start
        return image.path, f"{name}+{added:#x}"

    def _of_space(self, space: int) -> list[tuple[int, int, int, Image]]:
        """(start, end, load bias, image) of the files that an address space maps, ascending."""
        columns = self._columns
        found: dict[tuple[int, int], tuple[int, int, int, Image]] = {}
        first = columns["snapshot_at"][space]
        for chunk in columns["lists"][first : first + columns["snapshot_count"][space]]:
            for row in range(chunk * CHUNK, chunk * CHUNK + columns["chunk_count"][chunk]):
                if not columns["flags"][row] & EXECUTABLE:
                    continue
                image = self._images.image(self._keys[columns["images"][row]])
                if image.kind is not ImageKind.FILE or image.elf is None:
                    continue
                place = image.address_of_offset(columns["offsets"][row])
                if place is None:
                    continue
                bias = columns["starts"][row] - place
                loads = image.elf.loads
                low = min(segment.address for segment in loads)
                high = max(segment.address + segment.memory_size for segment in loads)
                found[image.number, bias] = (bias + low, bias + high, bias, image)
        return sorted(found.values(), key=lambda span: span[:2])
