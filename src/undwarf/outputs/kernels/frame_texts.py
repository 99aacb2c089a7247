# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Texts of frames, each formatted once."""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.undwarf.outputs.text_sizes import CACHED_BYTES

from undwarf.column import zeros
from undwarf.outputs.kernels.text_buffer import Text


@cython.final
@cython.cclass
class FrameTexts:
    """A cache of frames' texts for one selection of fields (``mode``), of about ``CACHED_BYTES``.

    Frame i is ``text[start[i]:end[i]]`` (I); an ``end`` of 0 means that it has to be formatted: written to ``text``
    between :meth:`begin` and :meth:`finish`.
    """

    start: Any
    end: Any
    text: Text

    def __init__(self, frames: int) -> None:
        self.start, self.end = zeros("I", frames), zeros("I", frames)
        self.text = Text(1 << 16)
        self.mode = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def forget(self) -> cython.int:
        """Remove all texts."""
        self.text.used = 0
        self.end[:] = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def select(self, mode: cython.uint) -> cython.int:
        """Use this selection of fields from now on."""
        if mode != self.mode:
            self.mode = mode
            self.forget()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def begin(self, frame: cython.Py_ssize_t) -> cython.int:
        """Start a frame's text, in an empty cache if it is full."""
        if self.text.used > CACHED_BYTES:
            self.forget()
        self.start[frame] = cython.cast("unsigned int", self.text.used)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def finish(self, frame: cython.Py_ssize_t) -> cython.int:
        """End a frame's text."""
        self.end[frame] = cython.cast("unsigned int", self.text.used)
        return 0
