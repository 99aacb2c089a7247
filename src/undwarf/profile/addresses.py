"""Names single addresses of a recording: of branches, of data, of the kernel's functions in tracepoints.

Stacks are named all at once (undwarf.profile.build); what is here is for addresses that are no frames of theirs.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.column import absent, zeros
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.spaces.mapping_flags import CHUNK, OVER_FILE
from undwarf.spaces.sample_spaces import Spaces
from undwarf.symbols.kernel_symbols import kernel_key
from undwarf.symbols.resolver import UNKNOWN, Resolver

if TYPE_CHECKING:
    from undwarf.types.sources.data_symbols import DataSymbols

KERNEL_HALF = 1 << 63
NONE = 0xFFFFFFFF
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
        self._columns: dict[str, Any] = spaces.replay.mappings.columns()
        self._keys = spaces.replay.keys()
        self._pids = spaces.replay.key_pids()
        self._images = images
        self._records = records
        self._data_maps = _DataMaps(records)
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

    def find_data(self, space: int, address: int, pid: int, when: int) -> Located:
        """As :meth:`find`, of an address that may be a variable's, in a process at a time."""
        found = self.find(space, address)
        if address >= KERNEL_HALF or (found.image is not None and found.known):
            return found
        if found.image is None:
            row = self._data_maps.find(pid, address, when)
            if row is None:
                return found
            side = self._records.sideband
            mmaps = side.mmaps
            image = self._images.image((side.name[row], side.identity[row]))
            offset = address - mmaps.start[row] + mmaps.page_offset[row]
            stated = image.address_of_offset(offset) if image.kind is ImageKind.FILE else None
            found = Located(image, address if stated is None else stated, offset, UNKNOWN, 0)
        return self._with_variable(found)

    def _with_variable(self, found: Located) -> Located:
        """An address with the variable that is there, if any."""
        image = found.image
        if image is None or image.kind is not ImageKind.FILE or image.elf is None:
            return found
        variables = self._variables.get(image.number)
        if variables is None:
            # Few recordings have data addresses, and these are modules of their own.
            from undwarf.types.sources.data_symbols import DataSymbols

            variables = self._variables[image.number] = DataSymbols(image.debug_elf or image.elf)
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
            if starts[CHUNK * columns["lists"][first + middle]] <= address:
                low = middle + 1
            else:
                high = middle
        if not low:
            return -1
        chunk = columns["lists"][first + low - 1]
        rows = range(CHUNK * chunk, CHUNK * chunk + columns["chunk_count"][chunk])
        row = max((row for row in rows if starts[row] <= address), default=-1)
        return row if row >= 0 and address < columns["ends"][row] and columns["flags"][row] != OVER_FILE else -1


class _DataMaps:
    """The mappings of data, which address spaces leave out: by process, as the side band has them."""

    def __init__(self, records: Records) -> None:
        self._side = records.sideband
        self._rows: dict[int, list[int]] | None = None
        self._parents: dict[int, tuple[int, int]] = {}

    def find(self, pid: int, address: int, when: int) -> int | None:
        """The row of the side band that mapped an address last; of a child also what its parent had."""
        if self._rows is None:
            self._rows = self._read()
        side = self._side
        mmaps = side.mmaps
        seen = set()
        while pid not in seen:
            seen.add(pid)
            for row in reversed(self._rows.get(pid, ())):
                if side.time[row] <= when and 0 <= address - mmaps.start[row] < mmaps.length[row]:
                    return row
            if pid not in self._parents:
                break
            pid, when = self._parents[pid]
        return None

    def _read(self) -> dict[int, list[int]]:
        """Rows of mappings by process; of forks the parents are kept."""
        side = self._side
        parents = side.forks.parent_pid
        found: dict[int, list[int]] = {}
        for row in range(len(side.kind)):
            pid = side.pid[row]
            if side.kind[row] == SidebandKind.MMAP:
                found.setdefault(pid, []).append(row)
            elif side.kind[row] == SidebandKind.FORK and parents[row] != pid:
                self._parents.setdefault(pid, (parents[row], side.time[row]))
        return found
