"""Functions that never return because they end in a call of one, such as error reporters; they are not declared
noreturn, but compilers place other code after calls of them."""

from collections.abc import Callable

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing

__all__ = ["ends_in_noreturn_call"]

_JUMPS = (Flow.JUMP, Flow.BRANCH)
_UNSEEN = (Flow.RETURN, Flow.INDIRECT_JUMP, Flow.STOP)
"""Returns, has an unknown target, or is undecoded."""


def ends_in_noreturn_call(listing: Listing, never_returns: Callable[[int], bool]) -> bool:
    """Whether a whole function ends in a call that never returns and has no return before, nor a jump to where anything
    returns."""
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
