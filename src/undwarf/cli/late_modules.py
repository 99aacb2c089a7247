"""Modules of the standard library that are imported when somebody asks them for something.

``inspect`` is imported by click and by ``dataclasses``, and with it all that is known of Python's syntax and byte code.
What click asks it for is to tidy texts, and whether a default is a function. ``platform`` compiles half a dozen
patterns; ``uuid``, which click imports, asks it for the system's name.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any


def cleandoc(doc: str) -> str:
    """A text as it was meant: without the indentation of the code around it, and empty lines at its ends."""
    first, *others = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in others)]).strip("\n")


def isfunction(one: object) -> bool:
    """Whether this is a function written in Python."""
    return isinstance(one, FunctionType)


def system() -> str:
    """The system's name."""
    return os.uname().sysname


KNOWN: dict[str, tuple[Callable[..., Any], ...]] = {"inspect": (cleandoc, isfunction), "platform": (system,)}
"""What each has before."""


class _Late(ModuleType):
    """Stands for a module until it is asked for something else, and has all that the module has from then on."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__
        if sys.modules.get(own) is self:
            del sys.modules[own]
        real = import_module(own)
        vars(self).update(vars(real))
        return getattr(real, name)


def install() -> None:
    """Let them be imported late from now on, unless they are there already."""
    for name, functions in KNOWN.items():
        if name not in sys.modules:
            late = sys.modules[name] = _Late(name)
            vars(late).update((one.__name__, one) for one in functions)
