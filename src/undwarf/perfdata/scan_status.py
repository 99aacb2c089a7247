# constants of kernels: the build writes the .pxd beside this file
"""Why scans of record bytes stop."""

from enum import IntEnum


class ScanStatus(IntEnum):
    """What the caller must do before the scan can continue at the record where it stopped."""

    MORE = 0
    """The record continues past the window, or the window is used up."""
    RARE = 1
    """The record is decoded in Python; skip it with ``at += size``."""
    GROW = 2
    """Columns are full; handled in ``Decoder.scan``."""
    BROKEN = 3
    """The record has a size below 8: the next record cannot be found."""
    FULL = 4
    """The limit on samples or entries of the side band is reached."""


class Boundary(IntEnum):
    """Why the search for record boundaries stopped."""

    INCOMPLETE = 0
    """The record continues past the bytes, or they are used up."""
    SPECIAL = 1
    """The record is compressed, or further bytes follow it (TRACING_DATA, AUXTRACE)."""
    INVALID = 2
    """The record has a size below 8."""
