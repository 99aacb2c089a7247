"""Enumerations of integers that cost next to nothing where they are defined.

``enum.IntEnum`` makes each member by a dozen calls, a quarter of a millisecond for a class: the fifteen that a small
recording needs took as long to define as to decode it. Here members are integers with a name, in a class that knows
them by name and by value.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

__all__ = ["IntEnum", "IntFlag"]

if TYPE_CHECKING:
    from enum import IntEnum, IntFlag
else:

    class _Numbers(type):
        """The class of such enumerations. The integers in a class's body become members, those equal to an earlier one
        other names of it."""

        def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            numbers = {key: value for key, value in body.items() if type(value) is int and key[0] != "_"}
            for key in numbers:
                del body[key]
            made = super().__new__(mcls, name, bases, body)
            named, known = {}, {}
            for key, number in numbers.items():
                member = known.get(number)
                if member is None:
                    member = known[number] = int.__new__(made, number)
                    member.name = key
                named[key] = member
                type.__setattr__(made, key, member)
            made._named, made._known = named, known
            return made

        def __call__(cls, number: int) -> Any:
            try:
                return cls._known[number]
            except (KeyError, TypeError):
                raise ValueError(f"{number!r} is not a valid {cls.__qualname__}") from None

        def __getitem__(cls, name: str) -> Any:
            return cls._named[name]

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls._known.values())

        def __len__(cls) -> int:
            return len(cls._known)

        def __contains__(cls, number: object) -> bool:
            return isinstance(number, int) and number in cls._known

        @property
        def __members__(cls) -> Any:
            return MappingProxyType(cls._named)

    class IntEnum(int, metaclass=_Numbers):
        """An integer with a name."""

        @property
        def value(self) -> int:
            """The plain integer."""
            return int(self)

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {int(self)}>"

        # Where text is made of them they are numbers.
        __str__ = int.__repr__

        def __reduce__(self) -> Any:
            return type(self), (int(self),)

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, _seen: object) -> Any:
            return self

    class IntFlag(IntEnum):
        """A bit with a name; what is put together of such bits is a plain integer."""
