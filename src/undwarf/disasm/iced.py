"""iced-x86 without the tables that its package reads when it is imported, which are most of what that takes.

Those are the names of 4,800 codes, and thirty modules more. What is loaded here is what the package would load, under
the same names: who imports that as well gets the same objects.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = [
    "ConditionCode", "Decoder", "FlowControl", "Formatter", "FormatterSyntax", "Instruction", "InstructionInfoFactory",
    "MemorySize", "MemorySizeExt", "Mnemonic", "OpAccess", "OpKind", "Register", "RegisterExt",
]  # fmt: skip

_PACKAGE = "iced_x86"


@cache
def _places() -> list[str] | None:
    """Where the package's modules are."""
    package = PathFinder.find_spec(_PACKAGE)
    return package.submodule_search_locations if package is not None else None


def part(name: str) -> ModuleType:
    """A module of the package; the package itself is imported only where it is not laid out as expected."""
    full = f"{_PACKAGE}.{name}"
    known = sys.modules.get(full)
    if known is not None:
        return known
    places = _places()
    spec = PathFinder.find_spec(full, places) if places is not None else None
    if spec is None or spec.loader is None:
        return import_module(full)
    made = sys.modules[full] = module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[full]
        raise
    return made


if TYPE_CHECKING:
    from iced_x86 import (
        ConditionCode,
        Decoder,
        FlowControl,
        Formatter,
        FormatterSyntax,
        Instruction,
        InstructionInfoFactory,
        MemorySize,
        MemorySizeExt,
        Mnemonic,
        OpAccess,
        OpKind,
        Register,
        RegisterExt,
    )
else:
    ConditionCode, FlowControl, FormatterSyntax, MemorySize = map(
        part, ("ConditionCode", "FlowControl", "FormatterSyntax", "MemorySize")
    )
    Mnemonic, OpAccess, OpKind, Register = map(part, ("Mnemonic", "OpAccess", "OpKind", "Register"))
    _native = part("_iced_x86_py")
    Decoder, Formatter, Instruction = _native.Decoder, _native.Formatter, _native.Instruction
    InstructionInfoFactory = _native.InstructionInfoFactory
    MemorySizeExt, RegisterExt = _native.MemorySizeExt, _native.RegisterExt
