"""The address spaces of a recording, and those of each sample."""

from typing import NamedTuple

from undwarf.spaces.replay import Replay


class Spaces(NamedTuple):
    """Replayed address spaces; the columns are results of :meth:`Replay.run`, by sample."""

    replay: Replay
    space_of: memoryview
    kernel_of: memoryview
    comm_of: memoryview
