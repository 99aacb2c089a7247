# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stacks as a tree: each frame once, each stack a path from its outermost frame.

A frame is a unique (image, address, provenance), a stack node a unique (parent node, frame), and parents are numbered
before their children.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.unwind.provenance import Provenance

from undwarf.column import doubled, zeros


@cython.final
@cython.cclass
class Stacks:
    """Interned frames and stack nodes."""

    frame_slots: Any
    frame_image: Any
    node_slots: Any
    node_key: Any

    def __cinit__(self) -> None:
        self.frames = 0
        self.nodes = 0
        self.frame_image = zeros("I", 4096)
        self.frame_address = zeros("Q", 4096)
        self.frame_runtime = zeros("Q", 4096)
        self.frame_provenance = zeros("B", 4096)
        self.frame_evidence = zeros("B", 4096)
        self.frame_is_return = zeros("B", 4096)
        self.frame_slots = zeros("I", 8192)
        self.node_key = zeros("Q", 4096)
        self.node_slots = zeros("I", 8192)

    @cython.locals(slots="unsigned int[::1]", i=cython.Py_ssize_t, at=cython.ulonglong, mask=cython.ulonglong)
    def grow_frames(self) -> None:
        """Double the columns of frames."""
        size: cython.Py_ssize_t = len(self.frame_image)
        self.frame_image = doubled(self.frame_image, size)
        self.frame_address = doubled(self.frame_address, size)
        self.frame_runtime = doubled(self.frame_runtime, size)
        self.frame_provenance = doubled(self.frame_provenance, size)
        self.frame_evidence = doubled(self.frame_evidence, size)
        self.frame_is_return = doubled(self.frame_is_return, size)
        slots = zeros("I", 4 * size)
        mask = 4 * size - 1
        for i in range(self.frames):
            at = self.frame_hash(
                self.frame_image[i], self.frame_address[i], self.frame_runtime[i], self.frame_provenance[i]
            )
            at = at & mask
            while slots[at]:
                at = (at + 1) & mask
            slots[at] = i + 1
        self.frame_slots = slots

    @cython.locals(
        keys="unsigned long long[::1]",
        slots="unsigned int[::1]",
        i=cython.Py_ssize_t,
        at=cython.ulonglong,
        mask=cython.ulonglong,
    )
    def grow_nodes(self) -> None:
        """Double the columns of nodes."""
        size: cython.Py_ssize_t = len(self.node_key)
        keys = doubled(self.node_key, size)
        self.node_key = keys
        # At most half full: the page faults of a larger one cost more than it saves.
        slots = zeros("I", 4 * size)
        mask = 4 * size - 1
        with cython.nogil:
            for i in range(self.nodes):
                at = self.node_hash(keys[i]) & mask
                while slots[at]:
                    at = (at + 1) & mask
                slots[at] = cython.cast(cython.uint, i + 1)
        self.node_slots = slots

    def frame_hash(
        self, image: cython.uint, address: cython.ulonglong, runtime: cython.ulonglong, provenance: cython.uint
    ) -> cython.ulonglong:
        key: cython.ulonglong = (address + (runtime << 7) + provenance) * GOLDEN_RATIO
        key = (key ^ (key >> 31) ^ image) * GOLDEN_RATIO
        return key >> 20

    def node_hash(self, key: cython.ulonglong) -> cython.ulonglong:
        return ((key ^ (key >> 32)) * GOLDEN_RATIO) >> 24

    def frame(
        self, image: cython.uint, address: cython.ulonglong, runtime: cython.ulonglong, provenance: cython.uint
    ) -> cython.uint:
        """The number of this frame."""
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.frame_slots.shape[0]) - 1
        at: cython.ulonglong = self.frame_hash(image, address, runtime, provenance) & mask
        found: cython.Py_ssize_t
        while self.frame_slots[at]:
            found = cython.cast(cython.Py_ssize_t, self.frame_slots[at]) - 1
            if (
                self.frame_address[found] == address
                and self.frame_image[found] == image
                and self.frame_runtime[found] == runtime
                and self.frame_provenance[found] == provenance
            ):
                return cython.cast(cython.uint, found)
            at = (at + 1) & mask
        if self.frames >= self.frame_image.shape[0]:
            with cython.gil:
                self.grow_frames()
            return self.frame(image, address, runtime, provenance)
        found = self.frames
        self.frames += 1
        self.frame_slots[at] = cython.cast(cython.uint, found + 1)
        self.frame_image[found] = image
        self.frame_address[found] = address
        self.frame_runtime[found] = runtime
        self.frame_provenance[found] = cython.cast(cython.uchar, provenance)
        return cython.cast(cython.uint, found)

    def with_provenance(self, frame: cython.uint, provenance: cython.uint) -> cython.uint:
        """The number of the frame that differs from this one in nothing but its provenance."""
        found: cython.uint = self.frame(
            self.frame_image[frame], self.frame_address[frame], self.frame_runtime[frame], provenance
        )
        self.frame_is_return[found] = self.frame_is_return[frame]
        return found

    def location(self, frame: int) -> tuple[int, int]:
        """A frame's image, 0xffffffff for none, and its address there."""
        number: cython.Py_ssize_t = frame
        return self.frame_image[number], self.frame_address[number]

    def inferred_at(self, frame: int, address: int) -> int:
        """The number of a frame at another address of the same image in the same process, taken from another dump."""
        number: cython.Py_ssize_t = frame
        moved: cython.ulonglong = address
        runtime: cython.ulonglong = self.frame_runtime[number]
        if runtime:
            runtime += moved - self.frame_address[number]
        found: cython.uint = self.frame(self.frame_image[number], moved, runtime, Provenance.OTHER_DUMP)
        self.frame_is_return[found] = self.frame_is_return[number]
        return found

    def node(self, parent: cython.uint, frame: cython.uint) -> cython.uint:
        """The number of the node with this parent (0xffffffff for a root) and frame."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, parent) << 32 | frame
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.node_slots.shape[0]) - 1
        at: cython.ulonglong = self.node_hash(key) & mask
        found: cython.Py_ssize_t
        while self.node_slots[at]:
            found = cython.cast(cython.Py_ssize_t, self.node_slots[at]) - 1
            if self.node_key[found] == key:
                return cython.cast(cython.uint, found)
            at = (at + 1) & mask
        if self.nodes >= self.node_key.shape[0]:
            with cython.gil:
                self.grow_nodes()
            return self.node(parent, frame)
        found = self.nodes
        self.nodes += 1
        self.node_slots[at] = cython.cast(cython.uint, found + 1)
        self.node_key[found] = key
        return cython.cast(cython.uint, found)

    @cython.locals(frame_map="unsigned int[::1]", node_map="unsigned int[::1]", i=cython.Py_ssize_t, parent=cython.uint)
    def adopt(self, other: Stacks) -> tuple[memoryview, memoryview]:  # noqa: F821 - the class itself, which Cython knows
        """Add another thread's frames and nodes; returns the columns that map its node numbers and its frame numbers to
        ours."""
        mapped_frames = zeros("I", other.frames)
        mapped = zeros("I", other.nodes)
        frame_map = mapped_frames
        node_map = mapped
        with cython.nogil:
            for i in range(other.frames):
                frame_map[i] = self.frame(
                    other.frame_image[i],
                    other.frame_address[i],
                    other.frame_runtime[i],
                    other.frame_provenance[i],
                )
                self.frame_is_return[frame_map[i]] = other.frame_is_return[i]
            for i in range(other.nodes):
                parent = cython.cast(cython.uint, other.node_key[i] >> 32)
                if parent != NOTHING:
                    parent = node_map[parent]
                node_map[i] = self.node(parent, frame_map[cython.cast(cython.Py_ssize_t, other.node_key[i] & NOTHING)])
        return mapped, mapped_frames

    def nodes_total(self) -> int:
        """How many nodes there are."""
        return self.nodes

    @cython.locals(parents="unsigned int[::1]", frames="unsigned int[::1]", i=cython.Py_ssize_t)
    def columns(self) -> dict[str, memoryview]:
        """``parent`` and ``frame`` by node; ``image``, ``address``, ``runtime``, ``provenance`` and ``is_return`` (B, 1
        if ``address`` is one less than a return address) by frame."""
        parent = zeros("I", self.nodes)
        frame = zeros("I", self.nodes)
        parents = parent
        frames = frame
        with cython.nogil:
            for i in range(self.nodes):
                parents[i] = cython.cast(cython.uint, self.node_key[i] >> 32)
                frames[i] = cython.cast(cython.uint, self.node_key[i] & NOTHING)
        count: cython.Py_ssize_t = self.frames
        return {
            "parent": parent,
            "frame": frame,
            "image": memoryview(self.frame_image)[:count],
            "address": memoryview(self.frame_address)[:count],
            "runtime": memoryview(self.frame_runtime)[:count],
            "provenance": memoryview(self.frame_provenance)[:count],
            "is_return": memoryview(self.frame_is_return)[:count],
        }


@cython.locals(numbers="unsigned int[::1]", new="const unsigned int[::1]", i=cython.Py_ssize_t)
def remap(column: Any, first: cython.Py_ssize_t, end: cython.Py_ssize_t, mapping: Any) -> None:
    """Replace each number in ``column[first:end]`` by ``mapping[number]``; 0xffffffff stays."""
    numbers = column
    new = mapping
    with cython.nogil:
        for i in range(first, end):
            if numbers[i] != NOTHING:
                numbers[i] = new[numbers[i]]


@cython.locals(places="unsigned int[::1]", i=cython.Py_ssize_t)
def move(column: Any, first: cython.Py_ssize_t, end: cython.Py_ssize_t, by: cython.uint) -> None:
    """Add ``by`` to the numbers in ``column[first:end]`` that are not 0."""
    places = column
    with cython.nogil:
        for i in range(first, end):
            if places[i]:
                places[i] += by
