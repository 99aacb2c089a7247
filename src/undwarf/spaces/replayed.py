"""What became of a recording's side band: address spaces, and which of them each sample saw."""

from typing import NamedTuple

from undwarf.spaces.replay import Replay


class Spaces(NamedTuple):
    """The replayed address spaces and what each sample saw of them; columns have one number a sample."""

    replay: Replay
    space_of: memoryview
    kernel_of: memoryview
    comm_of: memoryview
