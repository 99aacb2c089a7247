# constants of kernels: the build writes the .pxd beside this file
"""Why a scan of record bytes stopped."""

from enum import IntEnum


class ScanStatus(IntEnum):
    """What has to happen before the scan can continue at the record it stopped at."""

    MORE = 0
    """The record continues past the window, or the window is used up."""
    RARE = 1
    """The record is decoded in Python; skip it with ``at += size``."""
    GROW = 2
    """Columns are full; ``Decoder.scan`` lets them grow itself."""
    BROKEN = 3
    """The record claims a size below 8: nothing after it can be found."""
    FULL = 4
    """The limit on samples or entries of the side band is reached."""
