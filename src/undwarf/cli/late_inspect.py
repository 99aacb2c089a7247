"""``inspect`` when somebody asks it for something.

It is imported by click and by ``dataclasses``, and with it all that is known of Python's syntax and byte code. What
click asks it for is to tidy texts, and whether a default is a function.
"""

import sys
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

_NAME = "inspect"


def cleandoc(doc: str) -> str:
    """A text as it was meant: without the indentation of the code around it, and empty lines at its ends."""
    first, *others = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in others)]).strip("\n")


def isfunction(one: object) -> bool:
    """Whether this is a function written in Python."""
    return isinstance(one, FunctionType)


class _Late(ModuleType):
    """Stands for the module until it is asked for something else, and has all that the module has from then on."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        real = import_module(_NAME)
        vars(self).update(vars(real))
        return getattr(real, name)


def install() -> None:
    """Let it be imported late from now on, unless it is there already."""
    if _NAME not in sys.modules:
        late = sys.modules[_NAME] = _Late(_NAME)
        vars(late).update(cleandoc=cleandoc, isfunction=isfunction)
