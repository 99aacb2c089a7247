"""What became of a recording's side band: address spaces, and which of them each sample saw."""

from dataclasses import dataclass

from undwarf.spaces.replay import Replay


@dataclass(slots=True, repr=False, eq=False)
class Spaces:
    """The replayed address spaces and what each sample saw of them; columns have one number a sample."""

    replay: Replay
    space_of: memoryview
    kernel_of: memoryview
    comm_of: memoryview
