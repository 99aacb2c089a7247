"""Functions that never return, as those that say what is wrong and end the program: no declaration says so of them, and
compilers put something else behind a call of one."""

from collections.abc import Callable

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing

__all__ = ["is_endless"]

_JUMPS = (Flow.JUMP, Flow.BRANCH)
_UNSEEN = (Flow.RETURN, Flow.INDIRECT_JUMP, Flow.STOP)
"""What returns, may go anywhere, or was not understood."""


def is_endless(listing: Listing, never_returns: Callable[[int], bool]) -> bool:
    """Whether the instructions of a whole function end with a call of what never returns, and none before returns, or
    goes on outside of the function but where nothing returns either."""
    leaving = listing.control_transfers()
    if not leaving or not listing.flows[len(listing) - 1]:
        return False
    flow, target = leaving[-1]
    if flow != Flow.CALL or target is None or not never_returns(target):
        return False
    return not any(
        one in _UNSEEN or (one in _JUMPS and (to is None or (listing.index_of(to) is None and not never_returns(to))))
        for one, to in leaving
    )
