"""undwarf/tables/cfi/fde.pxd"""

from typing import Any

CIE_WORDS: int

class Fde:
    start: int
    end: int
    program: int
    program_end: int
    cie: int

class Cie:
    code_align: int
    data_align: int
    column: int
    flags: int
    program: int
    program_end: int

CiePointer = Cie

def cie_at(words: Any, number: int) -> CiePointer: ...
