"""undwarf/unwind/frame_states.pxd"""

from typing import Any

class FrameState:
    address: int
    stack_pointer: int
    rbx: int
    rbp: int
    r12: int
    r13: int
    r14: int
    r15: int
    known: int
    node: int
    log_index: int

    def __getitem__(self, index: int) -> FrameState: ...
    def __setitem__(self, index: int, state: FrameState) -> None: ...
    def __sub__(self, count: int) -> FrameState: ...

STATE_WORDS: int
FrameStatePointer = FrameState

def state_at(words: Any, index: int) -> FrameStatePointer: ...
