# cython: language_level=3
"""A work limit for demangling a name."""

import cython

from undwarf.symbols.itanium.ast import Malformed


class Exhausted(Malformed):
    """A name that needs more steps or more text than allowed."""


@cython.final
@cython.cclass
class Budget:
    """The nodes that may still be visited, which parsing and printing of a name share."""

    steps: cython.int

    @cython.cfunc
    @cython.exceptval(-1)
    def step(self) -> cython.int:
        """Count a visited node. Raises Exhausted when there are too many."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted
        return 0


@cython.cfunc
def new_budget(steps: cython.int) -> Budget:
    """A budget of so many steps."""
    budget: Budget = Budget.__new__(Budget)
    budget.steps = steps
    return budget
