# cython: language_level=3
"""Demangles C++ names of the Itanium ABI: `parser.py` reads them into a tree (`ast.py`), `printer.py` prints that."""

import cython
from cython.cimports.undwarf.symbols.itanium.budget import Budget, new_budget
from cython.cimports.undwarf.symbols.itanium.parser import parse_name
from cython.cimports.undwarf.symbols.itanium.printer import print_name

from undwarf.symbols.itanium.ast import Malformed


@cython.final
@cython.cclass
class Demangler:
    """Demangles names within bounds: a result has at most ``most`` characters, each name may visit ``steps`` nodes, all
    names together ``allowance``; once that is used up each name may visit ``frugal`` nodes only."""

    most = cython.declare(cython.Py_ssize_t)
    steps = cython.declare(cython.int)
    allowance = cython.declare(cython.longlong, visibility="readonly")
    frugal = cython.declare(cython.int)

    def __init__(self, most: int, steps: int, allowance: int, frugal: int) -> None:
        self.most = most
        self.steps = steps
        self.allowance = allowance
        self.frugal = frugal

    def name(self, symbol: str) -> str | None:
        """The name of a symbol; None if it is not mangled like this or exceeds the bounds."""
        steps: cython.int = self.steps if self.allowance > 0 else self.frugal
        budget: Budget = new_budget(steps)
        try:
            return print_name(parse_name(symbol, budget), self.most, budget)
        except Malformed:
            return None
        finally:
            self.allowance -= steps - max(budget.steps, 0)
