"""How far into each file the processes of a recording mapped code."""

from undwarf.images.mapped_file_check import Extents
from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.synthetic_mmaps import EXEC


def code_extents(records: Records) -> Extents:
    """The end of the last code mapping of each file, as a file offset, by (path, (major, minor, inode)).

    Mappings from offset 0 do not count: loaders reserve a library's addresses with them, including ``.bss``, which is
    not in the file.
    """
    side = records.sideband
    mmaps = side.mmaps
    found: Extents = {}
    for row, kind in enumerate(side.kind):
        if kind == SidebandKind.MMAP and mmaps.page_offset[row] and mmaps.protection[row] & EXEC:
            file = records.identities[side.identity[row]]
            path = records.names[side.name[row]].decode("utf-8", "surrogateescape")
            key = path, (file.major, file.minor, file.inode)
            found[key] = max(found.get(key, 0), mmaps.length[row] + mmaps.page_offset[row])
    return found
