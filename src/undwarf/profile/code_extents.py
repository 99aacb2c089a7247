"""How far into each file a recording's processes mapped code."""

from undwarf.images.mapped_file_check import Extents
from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.synthetic_mmaps import EXEC


def code_extents(records: Records) -> Extents:
    """The largest end of code in each file, in bytes from the file's start.

    What is mapped from the start on is left out: loaders reserve addresses by that, up to the end of what has no bytes
    in the file.
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
