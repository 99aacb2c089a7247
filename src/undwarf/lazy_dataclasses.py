"""Dataclasses with slots that cost next to nothing where they are defined.

``dataclasses.dataclass`` writes the methods of a class as text and compiles that, half a millisecond for each class:
together a tenth of a run on a small recording, most of it for what the run never uses. Here only ``__init__`` is
compiled, when some objects have been made; what compares, hashes and shows objects needs no text.
"""

import dataclasses
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["FEW", "dataclass"]

FEW = 12
"""Objects of a class that are made name by name, before text is compiled that does it: that takes as long as thirty."""

if TYPE_CHECKING or sys.version_info >= (3, 14):
    # Since 3.14 a class does not know the names of its fields before their annotations are evaluated, which may name
    # what is imported for type checkers only: the standard library knows the way around that.
    from dataclasses import dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, repr: bool = True, eq: bool = True) -> Any:
        """As :func:`dataclasses.dataclass`, of classes whose bases have no fields. ``slots`` must be True."""
        assert slots
        return lambda cls: _made(cls, frozen, repr, eq)


def _in_order(
    names: tuple[str, ...], defaults: dict[str, Any], values: tuple[Any, ...], named: dict[str, Any]
) -> list[Any] | None:
    """The values of all names that are given by place, by name or by default; None where they are not so many."""
    found = list(values)
    used = 0
    for name in names[len(found) :]:
        if name in named:
            used += 1
            found.append(named[name])
        elif name in defaults:
            found.append(defaults[name])
        else:
            return None
    return found if len(found) == len(names) and used == len(named) else None


def _made(cls: type, frozen: bool, shown: bool, compared: bool) -> type:
    """A class like ``cls`` with slots, whose ``__init__`` is made at its first use."""
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    names = tuple(body.get("__annotations__", ()))
    defaults = {name: body.pop(name) for name in names if name in body}
    special = {name: one for name, one in defaults.items() if isinstance(one, dataclasses.Field)}
    methods: dict[str, Any] = {
        "__slots__": names,
        "__match_args__": names,
        "__qualname__": cls.__qualname__,
        "__dataclass_fields__": _Fields(cls),
    }
    if shown:
        methods["__repr__"] = _showing([name for name in names if name not in special or special[name].repr])
    if compared:
        methods |= _comparing([name for name in names if name not in special or special[name].compare], frozen)
    if frozen:
        methods |= _keeping(names)
    made: Any = type(cls)(cls.__name__, cls.__bases__, methods | body)

    late: dict[str, Any] = {name: one.default_factory for name, one in special.items()}
    plain: dict[str, Any] = {name: special[name].default if name in special else one for name, one in defaults.items()}
    plain |= {name: late for name, one in late.items() if one is not dataclasses.MISSING}
    plain = {name: one for name, one in plain.items() if one is not dataclasses.MISSING}
    put = object.__setattr__ if frozen else setattr
    left = FEW

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        nonlocal left
        if left:
            left -= 1
            found = _in_order(names, plain, values, named)
            if found is not None:
                for name, value in zip(names, found, strict=True):
                    put(self, name, late[name]() if value is late else value)
                return
        real = made.__init__ = _initializer(names, defaults, made if frozen else None)
        real.__qualname__ = f"{made.__qualname__}.__init__"
        made.__init__(self, *values, **named)

    made.__init__ = __init__
    return made  # type: ignore[no-any-return]


class _Fields:
    """What :func:`dataclasses.fields` and the like ask a class for."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, _one: Any, _owner: Any) -> Any:
        if not dataclasses.is_dataclass(self._cls):
            dataclasses.dataclass(init=False, repr=False, eq=False)(self._cls)
        return vars(self._cls)["__dataclass_fields__"]


def _initializer(names: tuple[str, ...], defaults: dict[str, Any], frozen: type | None) -> Any:
    """An ``__init__`` that takes a value for each name; ``frozen``: the class, if its objects cannot be changed."""
    known: dict[str, Any] = {"_missing": dataclasses.MISSING}
    takes, lines = ["self"], ["pass"]
    for name in names:
        take, value = name, name
        default = defaults.get(name, dataclasses.MISSING)
        if isinstance(default, dataclasses.Field):
            if default.default_factory is not dataclasses.MISSING:
                known[f"_make_{name}"] = default.default_factory
                take, value = f"{name}=_missing", f"_make_{name}() if {name} is _missing else {name}"
            default = default.default
        if default is not dataclasses.MISSING:
            known[f"_default_{name}"] = default
            take = f"{name}=_default_{name}"
        takes.append(take)
        if frozen is not None:
            # What the slots' own descriptors do in a third of the time of `object.__setattr__`.
            known[f"_put_{name}"] = vars(frozen)[name].__set__
        lines.append(f"self.{name} = {value}" if frozen is None else f"_put_{name}(self, {value})")
    exec(f"def __init__({', '.join(takes)}):\n " + "\n ".join(lines), known)
    return known["__init__"]


def _showing(names: list[str]) -> Any:
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _comparing(names: list[str], frozen: bool) -> dict[str, Any]:
    values: Any = attrgetter(*names) if names else lambda _one: ()

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    # What compares and may change has no hash.
    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _keeping(names: tuple[str, ...]) -> dict[str, Any]:
    """Methods of what cannot be changed; how it is copied and pickled all the same."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": __setattr__,
        "__delattr__": __delattr__,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
    }
