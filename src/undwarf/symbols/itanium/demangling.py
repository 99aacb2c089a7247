# cython: language_level=3
"""C++ names by the Itanium ABI: mangled text to a tree (`names.py`), and the tree to text (`spelling.py`).

The grammar is recursive, so what reads a name is one class, which goes on from module to module: characters
(`cursor.py`), types (`types.py`), expressions (`expressions.py`), names (`names.py`). Source: Itanium C++ ABI,
"Mangling"; where names of the real world go beyond it or fall behind, what binutils' c++filt says.
"""

from undwarf.symbols.itanium.names import Names
from undwarf.symbols.itanium.spelling import Speller
from undwarf.symbols.itanium.tree import Malformed


def demangled(symbol: str, most: int) -> str | None:
    """The name a symbol stands for; None where it is none, or one of more than ``most`` characters."""
    names: Names = Names(symbol)
    speller: Speller = Speller(most)
    try:
        return speller.text(names.parse())
    except (Malformed, RecursionError):
        return None
