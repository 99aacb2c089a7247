"""undwarf/tables/rule.pxd"""

from typing import Any

class SavedRegister:
    number: int
    kind: int
    value: int
    base: int

class UnwindRule:
    cfa_kind: int
    cfa_register: int
    cfa_offset: int
    cfa_extra: int
    flags: int
    source: int
    saved_count: int
    return_column: int
    saved: list[SavedRegister]

RulePointer = UnwindRule
SavedPointer = SavedRegister
NewRule = UnwindRule
NewSaved = SavedRegister

def rule_at(words: Any, number: int) -> RulePointer: ...
