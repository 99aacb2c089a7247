"""Enumerations of numbers and named tuples that cost next to nothing where they are defined.

``enum`` takes 20 µs for each member, and ``typing.NamedTuple`` makes two classes and compiles text: a command imports
three hundred members and thirty such classes, most of which its run never asks for. Here members are plain instances of
their class, and what makes a tuple of named values is compiled when some have been made.
"""

import collections
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

__all__ = ["FEW", "IntEnum", "NamedTuple", "in_order"]

FEW = 12
"""Objects of a class that are made name by name, before text is compiled that does it: that takes as long as thirty."""


def in_order(
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


class _Numbers(type):
    """The class of enumerations: what they answer as classes."""

    _by_name: dict[str, Any]
    _by_number: dict[int, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        numbers = {key: value for key, value in body.items() if type(value) is int and key[0] != "_"}
        made: Any = super().__new__(cls, name, bases, {key: body[key] for key in body if key not in numbers})
        made._by_name, made._by_number = {}, {}
        for key, number in numbers.items():
            # A further name of a number is that of the first one's member.
            one = made._by_number.get(number)
            if one is None:
                one = made._by_number[number] = int.__new__(made, number)
                one.name, one.value = key, number
            made._by_name[key] = one
            setattr(made, key, one)
        return made

    def __call__(cls, value: int) -> Any:
        """The member that is a number; raises ValueError where there is none."""
        found = cls._by_number.get(value)
        if found is None:
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")
        return found

    def __getitem__(cls, name: str) -> Any:
        return cls._by_name[name]

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._by_number.values())

    def __len__(cls) -> int:
        return len(cls._by_number)

    @property
    def __members__(cls) -> dict[str, Any]:
        return dict(cls._by_name)


class _Tuples(type):
    """The class of tuples of named values."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if tuple in bases or any(hasattr(base, "_fields") for base in bases):
            # What goes on from one is an ordinary class.
            return super().__new__(cls, name, bases, body)
        names = tuple(body.get("__annotations__", ()))
        defaults = {one: body.pop(one) for one in names if one in body}
        getters = {one: _getter(k, "") for k, one in enumerate(names)}
        told = {"__slots__": (), "_fields": names, "_field_defaults": defaults, "__match_args__": names}
        made: Any = super().__new__(cls, name, bases, body | told | getters)

        left = FEW

        def __new__(of: type, *values: Any, **named: Any) -> Any:
            nonlocal left
            if left:
                left -= 1
                found = in_order(names, defaults, values, named)
                if found is not None:
                    return tuple.__new__(of, found)
            real = _maker(names, defaults)
            real.__qualname__ = f"{made.__qualname__}.__new__"
            made.__new__ = staticmethod(real)
            return real(of, *values, **named)

        made.__new__ = staticmethod(__new__)
        return made


def _maker(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """A ``__new__`` that takes a value for each name."""
    known: dict[str, Any] = {f"_default_{name}": value for name, value in defaults.items()}
    known["_tuple"] = tuple.__new__
    takes = ", ".join(f"{name}=_default_{name}" if name in defaults else name for name in names)
    exec(f"def __new__(_cls, {takes}):\n return _tuple(_cls, ({''.join(f'{name}, ' for name in names)}))", known)
    return known["__new__"]


_getter: Callable[[int, str], Any] = collections._tuplegetter  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from enum import IntEnum
    from typing import NamedTuple
else:

    class IntEnum(int, metaclass=_Numbers):
        """As :class:`enum.IntEnum`, of members that are written as numbers."""

        __str__ = int.__repr__

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {int(self)}>"

        def __reduce_ex__(self, _protocol: object) -> Any:
            return type(self), (int(self),)

    class NamedTuple(tuple, metaclass=_Tuples):
        """As :class:`typing.NamedTuple`."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, **named: Any) -> Any:
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in zip(self._fields, self, strict=True))})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)
