"""What the commands of ``undwarf fleet`` did, in words and as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.outputs.schemas.fleet import (
        FleetCompact,
        FleetIngest,
        FleetProblem,
        FleetSymbolsAdd,
        FleetSymbolsMissing,
    )


class Taken(Protocol):
    """A recording that was given: as :class:`undwarf.fleet.ingest.Taken`."""

    @property
    def path(self) -> str: ...
    @property
    def samples(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def known(self) -> bool: ...
    @property
    def problem(self) -> str: ...


class Compacted(Protocol):
    """As :class:`undwarf.fleet.compaction.Compacted`."""

    @property
    def files_before(self) -> int: ...
    @property
    def files(self) -> int: ...
    @property
    def bytes_before(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def dropped(self) -> tuple[str, ...]: ...


class LookedUp(Protocol):
    """As :class:`undwarf.fleet.frame_lookup.LookedUp`."""

    @property
    def named(self) -> int: ...
    @property
    def not_named(self) -> Sequence[tuple[str, str]]: ...
    @property
    def typed(self) -> int: ...
    @property
    def described(self) -> int: ...
    @property
    def damage(self) -> Sequence[tuple[str, str]]: ...


class Missing(NamedTuple):
    """A file, its build-id as text, and how many of its frames have no name."""

    path: str
    build_id: str
    frames: int


def write_ingest(taken: Sequence[Taken], found: LookedUp, sink: TextIO) -> None:
    """Write a line on what was taken, one for each recording that was refused, one on names."""
    new = [one for one in taken if not one.known and not one.problem]
    known = sum(one.known for one in taken)
    samples, size = sum(one.samples for one in new), sum(one.size for one in new)
    text = f"{_counted(len(new), 'recording')} with {_counted(samples, 'sample')} taken ({size / 1e6:,.1f} MB)"
    sink.write(text + (f"; {known:,} known before" if known else "") + "\n")
    for one in taken:
        if one.problem:
            sink.write(f"refused: {printable(one.path)}: {printable(one.problem)}\n")
    write_symbols(found, sink)


def write_symbols(found: LookedUp, sink: TextIO) -> None:
    """Write how many frames got names, how many instructions were looked at, a line for each file whose frames have no
    names, and for each damage of debugging information."""
    sink.write(f"{_counted(found.named, 'frame')} named\n")
    if found.typed:
        described = f"{found.described:,} with the types of their file"
        sink.write(f"{_counted(found.typed, 'instruction')} looked at, {described}\n")
    for path, problem in found.not_named:
        sink.write(f"not named: {printable(path)}: {printable(problem)}\n")
    for path, damage in found.damage:
        sink.write(f"types not complete: {printable(path)}: {printable(damage)}\n")


def write_compact(compacted: Compacted, sink: TextIO) -> None:
    """Write how many files and bytes there were and are."""
    before, now = compacted.bytes_before / 1e6, compacted.bytes / 1e6
    sink.write(f"{compacted.files_before:,} files, {before:,.1f} MB -> {compacted.files:,} files, {now:,.1f} MB")
    sink.write(f"; {_counted(compacted.removed, 'file')} removed\n")
    if compacted.dropped:
        days = compacted.dropped
        sink.write(f"{_counted(len(days), 'day')} dropped, {days[0]} to {days[-1]}\n")


def write_missing(images: Sequence[Missing], sink: TextIO) -> None:
    """Write a line for each file of which frames have no names."""
    for image in images:
        sink.write(f"{image.frames:8,} frames  {image.build_id}  {printable(image.path)}\n")
    if not images:
        sink.write("all frames of files have names\n")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _problems(problems: Sequence[tuple[str, str]]) -> "list[FleetProblem]":
    return [{"dso": path, "problem": problem} for path, problem in problems]


def write_ingest_json(store: str, taken: Sequence[Taken], found: LookedUp, sink: TextIO) -> None:
    """Write what became of each recording."""
    document: FleetIngest = {
        "schema": "undwarf/fleet-ingest",
        "version": 1,
        "store": store,
        "recordings": [
            {
                "recording": one.path,
                "state": "refused" if one.problem else "known" if one.known else "taken",
                "samples": None if one.problem or one.known else one.samples,
                "size_bytes": one.size,
                "problem": one.problem or None,
            }
            for one in taken
        ],
        "frames_named": found.named,
        "not_named": _problems(found.not_named),
        "instructions_looked_at": found.typed,
        "instructions_described": found.described,
        "types_not_complete": _problems(found.damage),
    }
    dump(document, sink)


def write_compact_json(store: str, compacted: Compacted, sink: TextIO) -> None:
    """Write what became of the files."""
    document: FleetCompact = {
        "schema": "undwarf/fleet-compact",
        "version": 1,
        "store": store,
        "files_before": compacted.files_before,
        "files": compacted.files,
        "size_bytes_before": compacted.bytes_before,
        "size_bytes": compacted.bytes,
        "removed": compacted.removed,
        "days_dropped": list(compacted.dropped),
    }
    dump(document, sink)


def write_symbols_json(store: str, found: LookedUp, sink: TextIO) -> None:
    """Write how many frames got names."""
    document: FleetSymbolsAdd = {
        "schema": "undwarf/fleet-symbols-add",
        "version": 1,
        "store": store,
        "frames_named": found.named,
        "not_named": _problems(found.not_named),
        "instructions_looked_at": found.typed,
        "instructions_described": found.described,
        "types_not_complete": _problems(found.damage),
    }
    dump(document, sink)


def write_missing_json(store: str, images: Sequence[Missing], sink: TextIO) -> None:
    """Write the files of which frames have no names."""
    document: FleetSymbolsMissing = {
        "schema": "undwarf/fleet-symbols-missing",
        "version": 1,
        "store": store,
        "images": [{"dso": one.path, "build_id": one.build_id, "frames": one.frames} for one in images],
    }
    dump(document, sink)
