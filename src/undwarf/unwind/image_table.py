"""Images as a walk meets them, by number: what their addresses are, without unwind tables.

This is all that is needed of them where only innermost frames are wanted.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from undwarf.defects import Contained
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.unwind.arch import X86_64, Machine

if TYPE_CHECKING:
    from undwarf.tables.model import UnwindTable
    from undwarf.tables.rule_set import RuleSet
    from undwarf.unwind.exact_paths import CodeEvidence

NO_RULE = 0xFFFFFFFF

HAS_TABLE = 1
UNUSABLE = 2
NO_MORE = 3
ANONYMOUS = 4
COPIES = 5
"""Anonymous code with a table by the addresses it runs at (:mod:`undwarf.tables.from_copies`)."""

Segments = list[tuple[int, int, int]]
Loaded = tuple[int, Segments, "UnwindTable | None", int]


class Places:
    """Images by image number. ``keys`` are the recording's (name index, identity index) by that number.

    Calls come with the GIL held.
    """

    rules: "RuleSet | None" = None
    """The rules of all tables."""
    frame_pointers = False
    """Whether the walk steps by the frame pointer where there is no rule."""

    def __init__(self, store: ImageStore, keys: Sequence[tuple[int, int]], machine: Machine = X86_64) -> None:
        self.machine = machine
        """The machine whose code this is."""
        self.lock = threading.RLock()
        """Held while a table is changed."""
        self._store = store
        self._keys = keys
        self._loaded: dict[int, Loaded] = {}
        self._kernel = 0xFFFFFFFF
        self._searched = 0

    @property
    def code_evidence(self) -> "CodeEvidence | None":
        """What code says of precise samples; without, they are walked as others are."""
        return None

    def image(self, number: int) -> Image:
        """The image with this number."""
        return self._store.image(self._keys[number])

    def kernel_image(self) -> int:
        """The number of the kernel's image, 0xffffffff if the recording maps none."""
        while self._kernel == 0xFFFFFFFF and self._searched < len(self._keys):
            if self.image(self._searched).kind is ImageKind.KERNEL:
                self._kernel = self._searched
            self._searched += 1
        return self._kernel

    def load(self, number: int) -> Loaded:
        """State, loadable segments as (file offset, bytes, address), unwind table and entry address of an image."""
        loaded = self._loaded.get(number)
        if loaded is None:
            loaded = UNUSABLE, [], None, 0
            with self.contained(number):
                loaded = self._load(self.image(number))
            self._loaded[number] = loaded
        return loaded

    def contained(self, number: int) -> Contained:
        """A context in which what nobody foresaw in an image's files costs no more than the image's frames."""
        return self._store.finder.defects.contained(self.image(number).path)

    def _load(self, image: Image) -> Loaded:
        if image.kind in (ImageKind.ANON, ImageKind.JIT, ImageKind.BPF):
            return ANONYMOUS, [], None, 0
        if image.kind is ImageKind.JITDUMP:
            # Just-in-time compiled code: its addresses are offsets in the dump.
            dump = image.jitdump
            return UNUSABLE, [(0, len(dump.data), 0)] if dump is not None else [], None, 0
        elf = None if image.kind is ImageKind.MODULE else image.elf
        if elf is None or self.machine.elf_machine not in (None, elf.machine):
            return UNUSABLE, [], None, 0
        return UNUSABLE, [(offset, size, address) for offset, size, address, _flags in image.load_segments()], None, 0

    def call_before(self, number: int, address: int) -> int:
        """Whether a call instruction ends at ``address``: 1 yes, 2 no, 3 where the code was made or may have been
        changed at run time."""
        image = self.image(number)
        if image.kind in (ImageKind.ANON, ImageKind.JIT, ImageKind.BPF):
            return 3
        calls = self.machine.calls
        plain = image.plain
        if plain is not None:
            # The process may have changed it: that no call is in the file proves nothing.
            return 1 if calls.ends_with_call(bytes(plain[max(0, address - calls.LONGEST) : address])) else 3
        code = image.read(address - calls.LONGEST, calls.LONGEST)
        return 1 if code is not None and calls.ends_with_call(bytes(code)) else 2

    def is_made(self, number: int) -> bool:
        """Whether an image's code was made at run time."""
        return self.image(number).kind in (ImageKind.ANON, ImageKind.JIT, ImageKind.JITDUMP)

    def call_target(self, number: int, address: int) -> int:
        """Which address the direct call calls that ends at ``address``; 0 where it is another one."""
        calls = self.machine.calls
        code = self.image(number).read(address - calls.LONGEST, calls.LONGEST)
        found = calls.call_target(bytes(code), address) if code is not None else None
        return found if found is not None and 0 < found < 1 << 64 else 0

    def changes_stack(self, number: int, address: int) -> bool:
        """Whether a call of code in a jitdump returns to ``address`` to take another stack again."""
        image = self.image(number)
        if image.kind is not ImageKind.JITDUMP:
            return False
        calls = self.machine.calls
        code = image.read(address, calls.STACK_CHANGE_LONGEST)
        return code is not None and calls.is_stack_change(bytes(code))

    def return_at(self, number: int, address: int) -> int:
        """Whether the instruction at ``address`` returns: 1 yes, 2 no or not to be read."""
        image = self.image(number)
        if image.kind in (ImageKind.ANON, ImageKind.JIT, ImageKind.BPF):
            return 2
        calls = self.machine.calls
        code = image.read(address, calls.RETURN_LONGEST)
        return 1 if code is not None and calls.is_return(bytes(code)) else 2

    def called_within(self, number: int, address: int, back: int) -> bool:
        """Whether the call that ends at ``back`` is one of code at ``address`` or before, all of it inside of one
        function as unwind information has it."""
        from undwarf.tables.cfi.eh_frame_hdr import find_header  # not at the top: few stacks ask

        image = self.image(number)
        target = self.call_target(number, back)
        header = find_header(image.elf) if target and image.elf is not None else None
        if header is None:
            return False
        start = header.start_of(target)
        # What calls a function from its begin on does have a frame of it.
        return (
            start is not None
            and start < target <= address
            and start == header.start_of(address) == header.start_of(back)
        )

    def fiber_root_at(self, number: int, address: int) -> int:
        """Whether the code at ``address`` ends a fiber whose first function returns to it: 1 it is known to, 3 it may,
        since a function starts there that does not return from a signal, 2 no or not to be read."""
        calls = self.machine.calls
        image = self.image(number)
        code = image.read(address, calls.FIBER_ROOT_LONGEST)
        if code is None:
            return 2
        if calls.is_fiber_root(bytes(code)):
            return 1
        elf = image.elf
        from undwarf.tables.cfi.eh_frame_hdr import find_header  # not at the top: few stacks have such a root

        header = find_header(elf) if elf is not None and not calls.returns_from_signal(bytes(code)) else None
        return 3 if header is not None and header.start_of(address) == address else 2

    def haskell_rule(self, number: int) -> int:
        """The rule of Haskell code whose stack pointer is where it stays; 0xffffffff for images that have no such
        code."""
        elf = self.image(number).elf
        if elf is None or self.rules is None:
            return NO_RULE
        from undwarf.tables.haskell_stacks import add_rule, is_haskell

        return add_rule(self.rules) if is_haskell(elf) else NO_RULE

    def calls_haskell(self, number: int, address: int) -> int:
        """Whether a call of GHC's `StgRun`, which runs Haskell code, ends at ``address``: 1 yes, 2 no."""
        elf = self.image(number).elf
        if elf is None:
            return 2
        from undwarf.tables.haskell_stacks import calls_stg_run

        return 1 if calls_stg_run(elf, address) else 2

    def after_system_call(self, number: int, address: int, length: int) -> bool:
        """Whether a system call instruction ends at ``address`` and the ``length`` bytes of code there only look at its
        result."""
        calls = self.machine.calls
        before = calls.SYSTEM_CALL_LENGTH
        code = self.image(number).read(address - before, before + length)
        return code is not None and len(code) == before + length and calls.is_after_system_call(bytes(code))

    def behind_system_call(self, number: int, address: int) -> int:
        """Whether ``address`` is 1 right behind a system call, 2 there and in what tells a new thread from its parent;
        else 0."""
        calls = self.machine.calls
        reach = calls.SYSTEM_CALL_REACH
        code = self.image(number).read(address - reach, reach + 8)
        return calls.behind_system_call(bytes(code)) if code is not None else 0

    def system_call_number(self, number: int, address: int) -> int:
        """The number of the system call whose instruction ends at ``address``; -1 where that is not to be seen."""
        calls = self.machine.calls
        code = self.image(number).read(address - calls.SYSTEM_CALL_REACH, calls.SYSTEM_CALL_REACH)
        return calls.system_call_number(bytes(code)) if code is not None else -1

    def read(self, number: int, address: int) -> int | None:
        """The 8-byte word of read-only file data at an image's address; None where there is none."""
        if address == 0:
            return None
        word = self.image(number).read(address, 8)
        return int.from_bytes(word, "little") if word is not None and len(word) == 8 else None
