# constants of kernels: the build writes the .pxd beside this file
"""Sizes of text that is written."""

LINE_BYTES = 320
"""What a line needs at most beside its names."""

CHUNK = 1 << 18
"""Text is written out when there are this many bytes of it."""

CACHED_BYTES = 1 << 26
"""Bytes of formatted frames that are cached."""
