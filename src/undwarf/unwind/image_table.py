"""Images by number, as the walk uses them: their segments, and what their code shows; without unwind tables, which
few commands need.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from undwarf.defects import Contained
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.images.image_kind import UPROBES
from undwarf.integer_constants import NOTHING
from undwarf.unwind.arch import X86_64, Machine
from undwarf.unwind.walk_constants import RULE_NO, Evidence, ImageState

if TYPE_CHECKING:
    from undwarf.tables.model import UnwindTable
    from undwarf.tables.rule_set import RuleSet
    from undwarf.unwind.call_sites import CallSites
    from undwarf.unwind.exact_paths import CodeEvidence

WITHOUT_FILE = (ImageKind.ANON, ImageKind.JIT, ImageKind.BPF)
"""Kinds of images whose code is in no file."""


class LoadedImage(NamedTuple):
    """What the walk needs of an image."""

    state: ImageState
    segments: Sequence[tuple[int, int, int]] = ()
    """Loadable segments: file offset, bytes, address."""
    table: "UnwindTable | None" = None
    entry: int = 0
    """Where a program starts; 0 without."""


class ImageTable:
    """Images by image number. ``keys`` are the recording's (name index, identity index) by that number.

    Called with the GIL held.
    """

    rules: "RuleSet | None" = None
    """The rules of all tables."""
    frame_pointers = False
    """Whether the walk follows frame pointers where there is no rule."""
    has_call_sites = False
    """Whether there are calls of functions, by which callers of probed functions are found."""
    has_code_evidence = False
    """Whether there is evidence for precise samples; without, they are walked like others."""

    @property
    def code_evidence(self) -> "CodeEvidence":
        """The code's evidence for precise samples."""
        raise NotImplementedError

    @property
    def call_sites(self) -> "CallSites":
        """The calls of functions."""
        raise NotImplementedError

    def __init__(self, store: ImageStore, keys: Sequence[tuple[int, int]], machine: Machine = X86_64) -> None:
        self.machine = machine
        self.lock = threading.RLock()
        """Held while a table is changed."""
        self._store = store
        self._keys = keys
        self._loaded: dict[int, LoadedImage] = {}
        self._kernel = NOTHING
        self._searched = 0

    @property
    def loaded(self) -> dict[int, LoadedImage]:
        """The images that were loaded so far, by number."""
        return self._loaded

    def image(self, number: int) -> Image:
        """The image with this number."""
        return self._store.image(self._keys[number])

    def kernel_image(self) -> int:
        """The number of the kernel's image, 0xffffffff if the recording maps none."""
        while self._kernel == NOTHING and self._searched < len(self._keys):
            if self.image(self._searched).kind is ImageKind.KERNEL:
                self._kernel = self._searched
            self._searched += 1
        return self._kernel

    def load(self, number: int) -> LoadedImage:
        """Load an image, or get it as it was loaded before."""
        loaded = self._loaded.get(number)
        if loaded is None:
            loaded = LoadedImage(ImageState.UNUSABLE)
            with self.contained(number):
                loaded = self._load(self.image(number))
            self._loaded[number] = loaded
        return loaded

    def contained(self, number: int) -> Contained:
        """A context in which an unexpected error in an image's files costs no more than the image's frames."""
        return self._store.finder.defects.contained(self.image(number).path)

    def _load(self, image: Image) -> LoadedImage:
        if image.kind in WITHOUT_FILE:
            return LoadedImage(ImageState.ANONYMOUS)
        if image.name == UPROBES:
            return LoadedImage(ImageState.UPROBES)
        if image.kind is ImageKind.JITDUMP:
            # Just-in-time compiled code: its addresses are offsets in the dump.
            dump = image.jitdump
            return LoadedImage(ImageState.UNUSABLE, [(0, len(dump.data), 0)] if dump is not None else [])
        elf = None if image.kind is ImageKind.MODULE else image.elf
        if elf is None or self.machine.elf_machine not in (None, elf.machine):
            return LoadedImage(ImageState.UNUSABLE)
        segments = [(offset, size, address) for offset, size, address, _flags in image.load_segments()]
        return LoadedImage(ImageState.UNUSABLE, segments)

    def call_before(self, number: int, address: int) -> int:
        """The Evidence that a call instruction ends at ``address``: POSSIBLE where the code was compiled, or may have
        been changed, at run time."""
        image = self.image(number)
        if image.kind in WITHOUT_FILE:
            return Evidence.POSSIBLE
        calls = self.machine.calls
        plain = image.plain
        if plain is not None:
            # The process may have changed the code: a call that is not in the file may still be there.
            is_call = calls.ends_with_call(bytes(plain[max(0, address - calls.LONGEST) : address]))
            return Evidence.YES if is_call else Evidence.POSSIBLE
        code = image.read(address - calls.LONGEST, calls.LONGEST)
        return Evidence.YES if code is not None and calls.ends_with_call(bytes(code)) else Evidence.NO

    def is_jit(self, number: int) -> bool:
        """Whether an image's code was compiled at run time."""
        return self.image(number).kind in (ImageKind.ANON, ImageKind.JIT, ImageKind.JITDUMP)

    def call_target(self, number: int, address: int) -> int:
        """The address that the direct call calls that ends at ``address``; 0 if none does."""
        calls = self.machine.calls
        code = self.image(number).read(address - calls.LONGEST, calls.LONGEST)
        found = calls.call_target(bytes(code), address) if code is not None else None
        return found if found is not None and 0 < found < 1 << 64 else 0

    def restores_stack(self, number: int, address: int) -> bool:
        """Whether code in a jitdump switches back to its own stack at ``address``, where a call returns to."""
        image = self.image(number)
        if image.kind is not ImageKind.JITDUMP:
            return False
        calls = self.machine.calls
        code = image.read(address, calls.STACK_CHANGE_LONGEST)
        return code is not None and calls.is_stack_change(bytes(code))

    def return_at(self, number: int, address: int) -> int:
        """The Evidence that the instruction at ``address`` returns: NO also where it cannot be read."""
        image = self.image(number)
        if image.kind in WITHOUT_FILE:
            return Evidence.NO
        calls = self.machine.calls
        code = image.read(address, calls.RETURN_LONGEST)
        return Evidence.YES if code is not None and calls.is_return(bytes(code)) else Evidence.NO

    def called_within(self, number: int, address: int, return_address: int) -> bool:
        """Whether the call that ends at ``return_address`` is one of code at ``address`` or before it, in the same
        function by its unwind information, but not of the function's start, which would have a frame."""
        from undwarf.tables.cfi.eh_frame_hdr import find_header  # not at the top: few stacks ask

        image = self.image(number)
        target = self.call_target(number, return_address)
        header = find_header(image.elf) if target and image.elf is not None else None
        if header is None:
            return False
        start = header.start_of(target)
        return (
            start is not None
            and start < target <= address
            and start == header.start_of(address) == header.start_of(return_address)
        )

    def starts_function(self, number: int, address: int) -> bool:
        """Whether a function of an image's unwind information starts at an address."""
        from undwarf.tables.cfi.eh_frame_hdr import find_header  # not at the top: few stacks ask

        elf = self.image(number).elf
        header = find_header(elf) if elf is not None else None
        return header is not None and header.start_of(address) == address

    def fiber_root_at(self, number: int, address: int) -> int:
        """The Evidence that the first function of a fiber returns to ``address``: YES for known code, POSSIBLE where a
        function starts that does not return from a signal, NO also where it cannot be read."""
        calls = self.machine.calls
        image = self.image(number)
        code = image.read(address, calls.FIBER_ROOT_LONGEST)
        if code is None:
            return Evidence.NO
        if calls.is_fiber_root(bytes(code)):
            return Evidence.YES
        elf = image.elf
        from undwarf.tables.cfi.eh_frame_hdr import find_header  # not at the top: few stacks have such a root

        header = find_header(elf) if elf is not None and not calls.returns_from_signal(bytes(code)) else None
        return Evidence.POSSIBLE if header is not None and header.start_of(address) == address else Evidence.NO

    def haskell_rule(self, number: int) -> int:
        """The rule of Haskell code by the C stack, whose pointer it keeps; RULE_NO for images without such code."""
        elf = self.image(number).elf
        if elf is None or self.rules is None:
            return RULE_NO
        from undwarf.tables.haskell_stacks import add_rule, is_haskell

        return add_rule(self.rules) if is_haskell(elf) else RULE_NO

    def calls_haskell(self, number: int, address: int) -> int:
        """The Evidence that a call of GHC's `StgRun`, which runs Haskell code, ends at ``address``."""
        elf = self.image(number).elf
        if elf is None:
            return Evidence.NO
        from undwarf.tables.haskell_stacks import calls_stg_run

        return Evidence.YES if calls_stg_run(elf, address) else Evidence.NO

    def after_system_call(self, number: int, address: int, length: int) -> bool:
        """Whether a system call instruction ends at ``address``, and the ``length`` bytes of code there only check its
        result."""
        calls = self.machine.calls
        before = calls.SYSTEM_CALL_LENGTH
        code = self.image(number).read(address - before, before + length)
        return code is not None and len(code) == before + length and calls.is_after_system_call(bytes(code))

    def follows_system_call(self, number: int, address: int) -> int:
        """1 if ``address`` follows a system call, 2 if it follows one and the code that distinguishes a new thread from
        its parent; else 0."""
        calls = self.machine.calls
        reach = calls.SYSTEM_CALL_REACH
        code = self.image(number).read(address - reach, reach + 8)
        return calls.follows_system_call(bytes(code)) if code is not None else 0

    def system_call_number(self, number: int, address: int) -> int:
        """The number of the system call whose instruction ends at ``address``; -1 where the code does not show it."""
        calls = self.machine.calls
        code = self.image(number).read(address - calls.SYSTEM_CALL_REACH, calls.SYSTEM_CALL_REACH)
        return calls.system_call_number(bytes(code)) if code is not None else -1

    def read(self, number: int, address: int) -> int | None:
        """The 8-byte word of read-only file data at an image's address; None where there is none."""
        if address == 0:
            return None
        word = self.image(number).read(address, 8)
        return int.from_bytes(word, "little") if word is not None and len(word) == 8 else None
