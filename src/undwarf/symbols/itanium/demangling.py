# cython: language_level=3
"""C++ names by the Itanium ABI: mangled text to a tree (`names.py`), and the tree to text (`spelling.py`).

The grammar is recursive, so what reads a name is one class, which goes on from module to module: characters
(`cursor.py`), types (`types.py`), expressions (`expressions.py`), names (`names.py`). Source: Itanium C++ ABI,
"Mangling"; where names of the real world go beyond it or fall behind, what binutils' c++filt says.
"""

import cython

from undwarf.symbols.itanium.names import Names
from undwarf.symbols.itanium.spelling import Speller
from undwarf.symbols.itanium.tree import Malformed


@cython.final
@cython.cclass
class Demangler:
    """Demangles names within bounds: a result has at most ``most`` characters, each name may cost ``steps`` nodes
    that are looked at, and all names together ``allowance``; where that is used up each may cost ``frugal`` only."""

    def __init__(self, most: int, steps: int, allowance: int, frugal: int) -> None:
        self.most = most
        self.steps = steps
        self.allowance = allowance
        self.frugal = frugal

    def name(self, symbol: str) -> str | None:
        """The name a symbol stands for; None where it is none, or one that costs more than it may."""
        steps: cython.int = self.steps if self.allowance > 0 else self.frugal
        names: Names = Names(symbol, steps)
        # Reading and spelling have one budget.
        speller: Speller = Speller(self.most, 0)
        try:
            node = names.parse()
            speller.steps = names.steps
            names.steps = 0
            return speller.text(node)
        except Malformed:
            return None
        finally:
            self.allowance -= steps - max(names.steps, 0) - max(speller.steps, 0)
