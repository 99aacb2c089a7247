"""The address spaces of a recording, and those of each sample."""

from dataclasses import dataclass

from undwarf.spaces.replay import Replay


@dataclass(slots=True, repr=False, eq=False)
class Spaces:
    """Replayed address spaces; the columns are results of :meth:`Replay.run`, by sample."""

    replay: Replay
    space_of: memoryview
    kernel_of: memoryview
    comm_of: memoryview
