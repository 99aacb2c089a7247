"""What is told of the values of one origin in a function; `webs.py` gathers it."""

__all__ = ["Held", "Key", "Node"]

Key = tuple[str, int, int]


class Node:
    """Values of one origin. ``key`` says which; ``leads`` are types it leads to, by the offset added to it."""

    __slots__ = (
        "allocated",
        "apart",
        "begun",
        "beside",
        "compared",
        "confirmed",
        "copied",
        "declared",
        "floating",
        "floats",
        "flows",
        "followed",
        "high",
        "key",
        "known",
        "leads",
        "low",
        "met",
        "numbers",
        "numeric",
        "origins",
        "put",
        "read",
        "signs",
        "single",
        "sources",
        "summed",
        "touched",
    )

    def __init__(self, key: Key) -> None:
        self.key = key
        self.leads: dict[int, list[int]] = {}
        self.sources: list[tuple[Node, int]] = []
        self.origins: list[Node | None] = []
        """All that flows into it, None for what is no node."""
        self.known: list[tuple[int, ...]] = []
        """Types of what is stored there where they are known, the largest whole first."""
        self.begun = True
        """All sources are known."""
        self.declared: list[int] = []
        """Types said by prototypes."""
        self.confirmed = False
        """It also goes where what it is known to lead to is expected."""
        self.copied: list[int] = []
        self.signs: set[int] = set()
        self.floats = False
        self.compared: list[Node | int] = []
        """Nodes, or types of numbers, it is compared with."""
        self.met: list[Node | int] = []
        """Nodes, or types of numbers, that it is read together with, to calculate or to compare."""
        self.numeric = False
        """It is calculated with as only numbers are."""
        self.followed = False
        """It is used as an address."""
        self.touched: set[tuple[int, int]] = set()
        """(offset, size) of what is accessed behind it."""
        self.floating: set[tuple[int, int]] = set()
        """(offset, size) of those of them that are one number with a point."""
        self.numbers: set[tuple[int, int]] = set()
        """(offset, size) of those of them that are calculated with where they are."""
        self.put: set[tuple[int, tuple[int, ...]]] = set()
        """(offset, types) of pointers that are stored behind it, by what these lead to."""
        self.allocated = 0
        """Bytes of what it leads to, where it comes from an allocator."""
        self.single = False
        """These bytes are one object, or several of that size."""
        self.apart: list[tuple[int, int]] = []
        """(type, offset) of places outside of objects that are stored there."""
        self.low = 0
        self.high = 0
        """Where what is read and written behind it begins and ends."""
        self.summed: list[int] = []
        """What functions return of which a part is calculated from it."""
        self.read = False
        """It is a place that is read without an index."""
        self.flows = False
        """It goes somewhere else."""
        self.beside: list[Node | int] = []
        """Nodes, or types of numbers, it was calculated with."""

    def follow(self, offset: int, size: int, *, floating: bool, number: bool) -> None:
        """So many bytes are accessed at an offset from it, as one number, with a point or without, or as anything."""
        self.followed = True
        self.touched.add((offset, size))
        if floating:
            self.floating.add((offset, size))
        if number:
            self.numbers.add((offset, size))
        self.low = min(self.low, offset)
        self.high = max(self.high, offset + size)


Held = tuple[Node, int, int]
"""What a register holds: the value of a node, so much more, as so many bytes."""
