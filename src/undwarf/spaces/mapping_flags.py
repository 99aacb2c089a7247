# constants of kernels: the build writes the .pxd beside this file
"""Columns of an address space's mappings (:mod:`undwarf.spaces.replay`)."""

CHUNK = 32
"""Mappings in one chunk."""

EXECUTABLE = 1
"""Flag of a mapping that may hold code."""

OVER_FILE = 2
"""Flag of anonymous memory over a file's code; its image and offsets are those of the file. Without EXECUTABLE it is
no mapping: the memory is being written, and may become code."""
