"""Tuples with names that cost little where they are defined.

``typing.NamedTuple`` compiles a text for each class, and one for each annotation where those are text: a fifth of a
millisecond for a class, of which a run on a small recording needs thirty. Here a class gets its ``__new__`` compiled
when some objects have been made, and annotations are not looked at.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

__all__ = ["FEW", "NamedTuple"]

FEW = 12
"""Objects of a class that are made name by name, before text is compiled that does it."""

if TYPE_CHECKING or sys.version_info >= (3, 14):
    # Since 3.14 a class's annotations are no part of its body.
    from typing import NamedTuple
else:
    from _collections import _tuplegetter

    class _Named(tuple):
        """What all of them have."""

        __slots__ = ()
        _fields: tuple[str, ...] = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named: Any) -> Any:
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    class _Naming(type):
        """Makes a class of tuples of the body of one."""

        def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            names = tuple(body.get("__annotations__", ()))
            defaults = {key: body.pop(key) for key in names if key in body}
            fields = {key: _tuplegetter(place, None) for place, key in enumerate(names)}
            known: dict[str, Any] = {
                "__slots__": (),
                "__match_args__": names,
                "_fields": names,
                "_field_defaults": defaults,
                "__new__": _first(names, defaults),
            }
            return type.__new__(type, name, (_Named,), body | fields | known)

    def _first(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
        """A ``__new__`` that has itself replaced."""
        left = FEW

        def __new__(cls: Any, /, *values: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left > 0:
                given = {**defaults, **dict(zip(names, values, strict=False)), **named}
                if len(values) + len(named) <= len(names) == len(given) and not named.keys() & names[: len(values)]:
                    return tuple.__new__(cls, [given[name] for name in names])
            owner = next(one for one in cls.__mro__ if "_field_defaults" in vars(one))
            owner.__new__ = staticmethod(_compiled(names, defaults, owner))
            return owner.__new__(cls, *values, **named)

        return __new__

    def _compiled(names: tuple[str, ...], defaults: dict[str, Any], owner: type) -> Any:
        takes = ", ".join(f"{name}=_default_{name}" if name in defaults else name for name in names)
        known: dict[str, Any] = {f"_default_{name}": value for name, value in defaults.items()}
        known["_new"] = tuple.__new__
        exec(f"def __new__(_cls, {takes}):\n return _new(_cls, ({''.join(f'{name}, ' for name in names)}))", known)
        made = known["__new__"]
        made.__qualname__ = f"{owner.__qualname__}.__new__"
        return made

    NamedTuple = type.__new__(_Naming, "NamedTuple", (), {})
