# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The columns of a profile that scripts of samples are written from."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros
from undwarf.outputs.kernels.text_buffer import Names


@cython.final
@cython.cclass
class ScriptColumns:
    """Columns by sample (``times`` to ``physicals``), node of the tree of stacks (``parents``, ``frames``), frame
    (``images`` to ``source_lines``) and function (``starts``). Columns that the profile lacks are empty."""

    addrs: Any
    physicals: Any
    source_files: Any

    def __init__(self, profile: Any) -> None:
        words, numbers = zeros("Q", 0), zeros("I", 0)
        samples, stacks, frames = profile.samples, profile.stacks, profile.frames
        self.times = samples.time
        self.pids = samples.pid
        self.tids = samples.tid
        self.cpus = samples.cpu
        self.events = samples.event
        self.periods = samples.period
        self.comms = samples.comm
        self.stacks = samples.stack
        self.stops = samples.stop
        self.stop_images = samples.stop_image
        self.addrs = samples.addr if samples.addr is not None else words
        self.physicals = samples.phys_addr if samples.phys_addr is not None else words
        self.parents = stacks.parent
        self.frames = stacks.frame
        self.images = frames.image
        self.addresses = frames.address
        self.provenances = frames.provenance
        self.runtimes = frames.runtime
        self.functions = frames.function
        self.depths = frames.inline_depth
        self.source_files = frames.file if frames.file is not None else numbers
        self.source_lines = frames.line if frames.line is not None else numbers
        self.starts = profile.functions.address

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFF, check=True)
    def printed(self, frame: cython.Py_ssize_t) -> cython.ulonglong:
        """The address that perf prints for a frame. An entry of a sampled chain is printed as it is, but looked up one
        byte before. Mappings start at page boundaries, so the lowest 12 bits show the difference."""
        address: cython.ulonglong = self.addresses[frame]
        return address + 1 if (self.runtimes[frame] - address) & 0xFFF == 1 else address

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFF, check=True)
    def source_file(self, frame: cython.Py_ssize_t) -> cython.uint:
        """The index of a frame's source file; ``NOTHING`` if unknown."""
        return self.source_files[frame] if frame < self.source_files.shape[0] else NOTHING

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFF, check=True)
    def data_address(self, s: cython.Py_ssize_t) -> cython.ulonglong:
        """A sample's data address; 0 if it has none."""
        return self.addrs[s] if s < self.addrs.shape[0] else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def image_name(self, names: Names, image: cython.uint) -> cython.Py_ssize_t:
        """The index of an image's name in a list whose last name is for no image."""
        last: cython.Py_ssize_t = names.ends.shape[0] - 2
        return last if image == NOTHING or cython.cast("Py_ssize_t", image) > last else image
