"""Names single addresses of a recording: of branches, of data, of kernel functions in tracepoints.

Frames of stacks are named all at once (:mod:`undwarf.profile.build`).
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
_MAX_CACHED = 1 << 20


class Located(NamedTuple):
    """An address in an image: ``image`` (None: unmapped), ``address`` as in the ELF file (in the kernel and in code
    without a file the run-time address), ``offset`` in the mapped file, and the ``function`` or variable with its
    ``start`` (0: unknown)."""

    image: Image | None
    address: int
    offset: int
    function: str
    start: int

    @property
    def known(self) -> bool:
        """Whether a symbol names it."""
        return self.function != UNKNOWN


class Addresses:
    """Looks addresses up in the address spaces of a recording; answers are cached."""

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
        """The code at an address of an address space; kernel addresses are the same in all."""
        if address >= KERNEL_HALF:
            space = self._modules
        found = self._found.get((space, address))
        if found is None:
            if len(self._found) >= _MAX_CACHED:
                self._found.clear()
            found = self._found[space, address] = self._find(space, address)
        return found

    def find_data(self, space: int, address: int, pid: int, when: int) -> Located:
        """As :meth:`find`, of an address of process ``pid`` at time ``when`` (ns) that may be a variable's."""
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
        """The address with the variable there, if there is one."""
        image = found.image
        if image is None or image.kind is not ImageKind.FILE or image.elf is None:
            return found
        variables = self._variables.get(image.number)
        if variables is None:
            # Imported here: few recordings have data addresses.
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
        """The row of the mapping that holds an address; -1 for none."""
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
    """Mappings of data, which the replayed address spaces leave out: side-band rows by process."""

    def __init__(self, records: Records) -> None:
        self._side = records.sideband
        self._rows: dict[int, list[int]] | None = None
        self._parents: dict[int, tuple[int, int]] = {}

    def find(self, pid: int, address: int, when: int) -> int | None:
        """The side-band row that mapped an address last, in this process or an ancestor before the fork, or None."""
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
        """Rows of mappings by process. Notes the parents and times of forks as well."""
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
