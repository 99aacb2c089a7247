"""Images: one for each (name, build-id) that the recording maps, with the file behind it opened at first use."""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from undwarf.elf import ElfFile
from undwarf.elf.headers import NOT_ELF, PF_R, PF_X
from undwarf.elf.safe_open import map_regular_file
from undwarf.errors import ElfError
from undwarf.images import kernel_finder
from undwarf.images.finder import Finder, Place
from undwarf.images.image_kind import ADDRESSED_AS_RUN, UPROBES, ImageKind, kind_of_name, without_reference

if TYPE_CHECKING:
    from undwarf.images.jitdump import JitDump


class Identity(Protocol):
    """The file identity in a mapping record, as :class:`undwarf.perfdata.FileIdentity`."""

    @property
    def build_id(self) -> bytes: ...
    @property
    def major(self) -> int: ...
    @property
    def minor(self) -> int: ...
    @property
    def inode(self) -> int: ...


class Image:
    """A mapped file, the kernel, a module, the vdso, or code without a file.

    ``number`` counts images from 0 in the order of first use; ``name`` is as recorded (a kernel's without the symbol
    that perf appends), ``path`` the same as text; ``build_id`` as recorded, else the file's own once it is open.
    Properties are computed at first use; failures are cached.
    """

    def __init__(
        self,
        number: int,
        name: bytes,
        build_id: bytes,
        kind: ImageKind,
        finder: Finder,
        osrelease: str,
        place: Place | None = None,
    ) -> None:
        self.number = number
        self.name = name
        self.kind = kind
        self.build_id = build_id
        self.path = name.decode("utf-8", "surrogateescape")
        # By language, whether the image has code of it (symbols/language_detection.py).
        self.languages: dict[Any, bool] = {}
        self._finder = finder
        self._osrelease = osrelease
        self._recorded_build_id = build_id
        self._place = place
        self._problem = ""
        self._dump: JitDump | None = None
        self._looked = False

    def __repr__(self) -> str:
        return f"<Image {self.number} {self.kind.name} {self.path!r} {self.build_id.hex()}>"

    @property
    def runs_at_file_addresses(self) -> bool:
        """Whether frames of this image are looked up by ELF virtual address (else by runtime address)."""
        return self.kind not in ADDRESSED_AS_RUN

    @cached_property
    def elf(self) -> ElfFile | None:
        """The verified ELF file of this image; if None, :attr:`problem` has the reason."""
        found: ElfFile | None = None
        with self._finder.defects.contained(self.path) as contained:
            found = self._find()
        if contained.failed:
            self._problem = "file not readable"
        if found is not None and not self.build_id:
            self.build_id = found.build_id
        return found

    def close(self) -> None:
        """Close the files; they are opened again when they are needed."""
        for name in ("elf", "plain", "debug_elf", "segments"):
            self.__dict__.pop(name, None)

    def _find(self) -> ElfFile | None:
        found: ElfFile | None = None
        if self.kind is ImageKind.FILE:
            found, self._problem = self._finder.binary(self.path, self._recorded_build_id, self._place)
        elif self.kind is ImageKind.MODULE:
            # A missing file is no problem by itself: kallsyms name modules, too.
            found, _ = kernel_finder.module(self._finder, self.path, self._recorded_build_id, self._osrelease)
        elif self.kind is ImageKind.VDSO:
            found, self._problem = self._finder.vdso(self._recorded_build_id, self._osrelease)
        elif self.kind is ImageKind.KERNEL:
            # A missing vmlinux is no problem by itself: kallsyms name the kernel, too.
            found, _ = kernel_finder.vmlinux(self._finder, self._recorded_build_id, self._osrelease)
        elif self.kind is ImageKind.UNKNOWN and self.name != UPROBES:
            self._problem = "code of a guest" if self.name.startswith(b"[guest.") else "not a file"
        return found

    @cached_property
    def plain(self) -> memoryview | None:
        """The bytes of the mapped file if it is no ELF file, such as the core of a Lisp system with compiled code, else
        None. Addresses are file offsets. A process may have modified its private copy."""
        if self.kind is not ImageKind.FILE or self._recorded_build_id or self.problem != NOT_ELF:
            return None
        path = self._finder.path_of(self.path)
        with suppress(ElfError):
            return memoryview(map_regular_file(path)) if path is not None else None
        return None

    def open_dump(self, pid: int = 0) -> "JitDump | None":
        """The jitdump of this image; ``pid`` is the process that mapped it, whose root has it in a container."""
        if self.kind is ImageKind.JITDUMP and not self._looked:
            self._looked = True
            with self._finder.defects.contained(self.path) as contained:
                self._dump, self._problem = self._finder.jitdump(self.path, pid)
            if contained.failed:
                self._problem = "file not readable"
        return self._dump

    @property
    def jitdump(self) -> "JitDump | None":
        """The jitdump file of this image, whose offsets are the image's addresses; None without one."""
        return self.open_dump()

    @cached_property
    def debug_elf(self) -> ElfFile | None:
        """The separate debug file, verified by build-id or checksum; None without one."""
        elf = self.elf
        if elf is None or self.kind is not ImageKind.FILE:
            return None
        with self._finder.defects.contained(self.path):
            return self._finder.debug_file(elf, self.path)
        return None

    def has_common_file(self, elf: ElfFile) -> bool:
        """Whether the file to which dwz moved parts of ``elf`` (this image's binary or debug file) exists here."""
        return self._finder.alt_file(elf, self.path) is not None

    @property
    def problem(self) -> str:
        """Why this image's code cannot be unwound or named; empty if it can."""
        _ = self.elf if self.kind is not ImageKind.JITDUMP else self.jitdump
        return self._problem

    @problem.setter
    def problem(self, why: str) -> None:
        self._problem = why

    @cached_property
    def segments(self) -> list[tuple[int, int, int, int]]:
        """As :meth:`load_segments`, cached."""
        dump = self.jitdump
        if dump is not None:
            return [(0, len(dump.data), 0, PF_R | PF_X)]
        elf = self.elf
        if elf is None or self.kind in (ImageKind.KERNEL, ImageKind.MODULE):
            return []
        return [(segment.offset, segment.file_size, segment.address, segment.flags) for segment in elf.loads]

    def load_segments(self) -> list[tuple[int, int, int, int]]:
        """(file offset, bytes in the file, ELF virtual address, PF_* flags) of each loaded segment."""
        return self.segments

    def address_of_offset(self, file_offset: int) -> int | None:
        """The ELF virtual address at a file offset; None if no loaded segment contains it."""
        if self.jitdump is not None:
            return file_offset
        # Addresses in a module's file are relative to sections, which the kernel lays out.
        if self.elf is None or self.kind is ImageKind.MODULE:
            return None
        return self.elf.address_of_offset(file_offset)

    def offset_of_address(self, address: int) -> int:
        """The file offset of an ELF virtual address, the inverse of :meth:`address_of_offset`; the address itself if
        there is none."""
        if self.elf is None or self.kind is ImageKind.MODULE or not self.runs_at_file_addresses:
            return address
        for offset, size, start, _flags in self.segments:
            if start <= address < start + size:
                return address - start + offset
        return address

    def read(self, address: int, size: int) -> memoryview | None:
        """``size`` bytes at an ELF virtual address that are read-only at run time; None elsewhere."""
        if self.jitdump is not None:
            return self.jitdump.read(address, size)
        return self.elf.read(address, size) if self.elf is not None else None


class ImageStore:
    """The images of one recording, by image key = (index in ``names``, index in ``identities``).

    Keys of the same image (same name and build-id, or same name and inode) give the same object. A path with two
    build-ids gives two images.
    """

    def __init__(
        self,
        names: Sequence[bytes],
        identities: Sequence[Identity],
        features: Any = None,
        finder: Finder | None = None,
    ) -> None:
        self.finder = Finder() if finder is None else finder
        self.images: list[Image] = []
        self._names = names
        self._identities = identities
        self._lock = threading.Lock()
        self._osrelease: str = getattr(features, "osrelease", None) or ""
        self._hostname: str = getattr(features, "hostname", None) or ""
        self._by_key: dict[tuple[int, int], Image] = {}
        self._by_identity: dict[tuple[bytes, object], Image] = {}
        self._header_build_ids: dict[bytes, bytes] = {}
        for _pid, build_id, filename, _misc in getattr(features, "build_ids", None) or ():
            name = filename.encode("utf-8", "surrogateescape") if isinstance(filename, str) else filename
            if build_id.strip(b"\0"):
                self._header_build_ids.setdefault(name, build_id)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> Image:
        return self.images[number]

    @property
    def osrelease(self) -> str:
        """The release of the recording's kernel; empty if unknown."""
        return self._osrelease

    @property
    def is_of_this_system(self) -> bool:
        """Whether the recording is of this machine's host name and running kernel release."""
        here = os.uname()
        return bool(self._osrelease) and (self._osrelease, self._hostname) == (here.release, here.nodename)

    def image(self, key: tuple[int, int]) -> Image:
        """The image of a mapping that has this name index and identity index."""
        try:
            return self._by_key[key]
        except KeyError:
            image = self._by_key[key] = self._make(*key)
            return image

    def named(self, name: bytes, build_id: bytes = b"") -> Image:
        """An image by name, without a mapping record (the kernel of a recording without maps)."""
        return self._intern(name, build_id or self._header_build_id(name), None)

    def kernel(self) -> Image:
        """The kernel's image: the mapped one, else one created from the header's build-id."""
        for image in self.images:
            if image.kind is ImageKind.KERNEL:
                return image
        return self.named(b"[kernel.kallsyms]")

    def _header_build_id(self, name: bytes) -> bytes:
        return self._header_build_ids.get(without_reference(name), b"")

    def _make(self, name_index: int, identity_index: int) -> Image:
        name = self._names[name_index]
        identity = self._identities[identity_index]
        build_id = identity.build_id or self._header_build_id(name)
        return self._intern(name, build_id, (identity.major, identity.minor, identity.inode))

    def _intern(self, name: bytes, build_id: bytes, place: Place | None) -> Image:
        kind = kind_of_name(name)
        name = b"[kernel.kallsyms]" if kind is ImageKind.KERNEL else without_reference(name)
        if kind is ImageKind.KERNEL:
            known: tuple[bytes, object] = (name, build_id or b"")
        else:
            known = (name, build_id or place or 0)
        with self._lock:
            image = self._by_identity.get(known)
            if image is None:
                image = Image(len(self.images), name, build_id, kind, self.finder, self._osrelease, place)
                self._by_identity[known] = image
                self.images.append(image)
            return image
