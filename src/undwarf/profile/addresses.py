"""Names single addresses of a recording: of branches, of data, of the kernel's functions in tracepoints.

Stacks are named all at once (undwarf.profile.build); what is here is for addresses that are no frames of theirs.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.buffers import absent, zeros
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.perfdata import Records
from undwarf.spaces.replayed import Spaces
from undwarf.symbols.kernel import kernel_key
from undwarf.symbols.resolver import UNKNOWN, Resolver

if TYPE_CHECKING:
    from undwarf.types.sources.data_symbols import DataSymbols

KERNEL_HALF = 1 << 63
NONE = 0xFFFFFFFF
_CHUNK = 32
"""Mappings of a chunk of an address space (undwarf.spaces.replay)."""
_KEPT = 1 << 20


class Located(NamedTuple):
    """Where an address is: ``image`` (None for unmapped), ``address`` as the image's file states it (of the kernel and
    of code without a file the one it runs at), ``offset`` in the mapped file, and the ``function`` with its ``start``
    (0 where it is not known)."""

    image: Image | None
    address: int
    offset: int
    function: str
    start: int

    @property
    def known(self) -> bool:
        """Whether something names the code."""
        return self.function != UNKNOWN


class Addresses:
    """Looks addresses up in the address spaces of a recording; every answer is kept."""

    def __init__(self, spaces: Spaces, images: ImageStore, records: Records, resolver: Resolver) -> None:
        self._columns: dict[str, Any] = spaces.replay.columns()
        self._keys = spaces.replay.keys()
        self._pids = spaces.replay.key_pids()
        self._images = images
        self._resolver = resolver
        self._found: dict[tuple[int, int], Located] = {}
        self._variables: dict[int, DataSymbols] = {}
        self._modules = max((number for number in set(spaces.kernel_of) if number != NONE), default=NONE)
        key = kernel_key(records)
        self._kernel = images.image(key) if key is not None else images.kernel()

    def find(self, space: int, address: int) -> Located:
        """What an address is in an address space; the kernel's addresses are the same in all."""
        if address >= KERNEL_HALF:
            space = self._modules
        found = self._found.get((space, address))
        if found is None:
            if len(self._found) >= _KEPT:
                self._found.clear()
            found = self._found[space, address] = self._find(space, address)
        return found

    def find_data(self, space: int, address: int) -> Located:
        """As :meth:`find`, of an address that may be a variable's."""
        found = self.find(space, address)
        if found.image is None or found.image.elf is None or address >= KERNEL_HALF:
            return found
        variables = self._variables.get(found.image.number)
        if variables is None:
            # Few recordings have data addresses, and these are modules of their own.
            from undwarf.types.sources.data_symbols import DataSymbols

            variables = self._variables[found.image.number] = DataSymbols(found.image.debug_elf or found.image.elf)
        variable = variables.variable_at(found.address)
        if variable is None:
            return found
        return found._replace(function=variable[0], start=variable[1])

    def _find(self, space: int, address: int) -> Located:
        row = self._row(space, address)
        if row < 0:
            if address >= KERNEL_HALF:
                return self._named(self._kernel, address, address, 0)
            return Located(None, address, 0, UNKNOWN, 0)
        key = self._columns["images"][row]
        image = self._images.image(self._keys[key])
        offset = address - self._columns["starts"][row] + self._columns["offsets"][row]
        if address >= KERNEL_HALF:
            return self._named(image, address, offset if image.kind is not ImageKind.KERNEL else address, 0)
        stated = image.address_of_offset(offset)
        return self._named(image, address if stated is None else stated, offset, self._pids[key] or 0)

    def _named(self, image: Image, address: int, offset: int, pid: int) -> Located:
        images, addresses, pids = absent("I", 1), zeros("Q", 1), zeros("i", 1)
        images[0], addresses[0], pids[0] = image.number, address, pid
        found = self._resolver.resolve(images, addresses, pids)
        number = found.number[0]
        return Located(image, address, offset, found.name[number], found.address[number])

    def _row(self, space: int, address: int) -> int:
        """The mapping that holds an address, by its place in the columns; -1 for none."""
        if space == NONE:
            return -1
        columns = self._columns
        starts, first = columns["starts"], columns["snapshot_at"][space]
        low, high = 0, columns["snapshot_count"][space]
        while low < high:
            middle = (low + high) // 2
            if starts[_CHUNK * columns["lists"][first + middle]] <= address:
                low = middle + 1
            else:
                high = middle
        if not low:
            return -1
        chunk = columns["lists"][first + low - 1]
        rows = range(_CHUNK * chunk, _CHUNK * chunk + columns["chunk_count"][chunk])
        row = max((row for row in rows if starts[row] <= address), default=-1)
        return row if row >= 0 and address < columns["ends"][row] else -1
