"""Options of opening a recording and of computing its profile: each a frozen dataclass with good defaults.

A call takes such an object, or single options by keyword, or both: ``undwarf.open(path, symfs=root)`` is the short form
of ``undwarf.open(path, undwarf.Options(symfs=root))``. Objects are for programs that pass options on; a keyword is what
one writes for one option, and all keywords of earlier versions still work. The price is that the dictionaries of types
below repeat the fields, which a test compares.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from undwarf.api import InputFormat
from undwarf.limits import DEFAULT, Limits
from undwarf.profile.filters import Filters

Path = str | os.PathLike[str]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the source is, where files are, and what they are read for.

    ``format`` is ``perf.data`` for a recording alone, or that of a profile of another tool, for which the other options
    but ``limits`` have no effect; ``auto``: recognised by its contents. ``symfs``: a directory with the recorded
    machine's files. ``kallsyms`` and ``vmlinux`` describe its kernel. ``debug_dirs``: directories with separate debug
    files, beside ``/usr/lib/debug``. ``debuginfod``: whether missing files are fetched from the servers in
    ``$DEBUGINFOD_URLS``; nothing else uses the network. ``unwind``: kinds of unwind information in order of preference,
    as in ``"sframe"`` or ``"sframe,cfi,fp"`` (fp: frame pointers); ``auto`` is right for most. ``cache``: whether rows
    of unwind tables and types of instructions are cached below ``$UNDWARF_CACHE_DIR`` (default: ``~/.cache/undwarf``),
    unless that variable is ``off``. ``limits`` bound what one input may cost.

    >>> undwarf.Options(symfs="/mnt/image").symfs
    '/mnt/image'
    """

    format: InputFormat = "auto"
    symfs: Path | None = None
    kallsyms: Path | None = None
    vmlinux: Path | None = None
    debug_dirs: Sequence[Path] = ()
    debuginfod: bool = False
    unwind: str | Sequence[str] = "auto"
    cache: bool = True
    limits: Limits = DEFAULT


class FileKeywords(TypedDict, total=False):
    """The fields of :class:`Options` but for ``format`` as keywords."""

    symfs: Path | None
    kallsyms: Path | None
    vmlinux: Path | None
    debug_dirs: Sequence[Path]
    debuginfod: bool
    unwind: str | Sequence[str]
    cache: bool
    limits: Limits


class OptionKeywords(FileKeywords, total=False):
    """The fields of :class:`Options` as keywords."""

    format: InputFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """Which samples a profile has, and which attributes its frames have. By default these are all that the recording's
    files describe; fewer take less time.

    ``filters`` select samples. ``jobs``: unwinding threads (default: one per CPU, at most 8). ``by_time``: samples in
    order of time, else as recorded. ``runtime``: frames keep their address in the process. ``max_stack``: the most user
    frames of a stack. ``names``: without, all functions are unknown. ``starts``: functions without a symbol are named
    after where they start, as in ``gzip+0x4330``; without, ``[unknown]``. ``inline``: inlined functions are frames of
    their own. ``lines``: frames have source lines (default: as ``inline``). ``callers``: without, user stacks have one
    frame, and no unwind tables are read. ``branch_history``: the branches before a sample, target and source
    alternating, are between its innermost frame and its callers. ``versions``: symbols keep their version
    (``malloc@@GLIBC_2.2.5``), as in perf. ``other_dumps``: stacks larger than their dump are continued from other dumps
    of their thread that match; such frames have :attr:`Provenance.OTHER_DUMP`, such samples
    :attr:`StopReason.INFERRED_ROOT`. ``progress`` is called with the name of a step, how much is done, and of how much.

    >>> undwarf.ProfileOptions(inline=False).lines is None
    True
    """

    filters: Filters | None = None
    jobs: int | None = None
    by_time: bool = False
    runtime: bool = False
    max_stack: int | None = None
    names: bool = True
    starts: bool = True
    inline: bool = True
    lines: bool | None = None
    callers: bool = True
    branch_history: bool = False
    versions: bool = False
    other_dumps: bool = True
    progress: Progress | None = None


class ProfileKeywords(TypedDict, total=False):
    """The fields of :class:`ProfileOptions` as keywords."""

    filters: Filters | None
    jobs: int | None
    by_time: bool
    runtime: bool
    max_stack: int | None
    names: bool
    starts: bool
    inline: bool
    lines: bool | None
    callers: bool
    branch_history: bool
    versions: bool
    other_dumps: bool
    progress: Progress | None


def changed(options: Options | None, keywords: OptionKeywords) -> Options:
    """The options with some replaced. Raises TypeError for an unknown one."""
    return replace(options or Options(), **keywords)


def changed_profile(options: ProfileOptions | None, keywords: ProfileKeywords) -> ProfileOptions:
    """As :func:`changed`, for a profile."""
    return replace(options or ProfileOptions(), **keywords)
