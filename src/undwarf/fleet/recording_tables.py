"""The tables of one recording, ready to be put beside those of others."""

import hashlib
import struct
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.column import absent, zeros
from undwarf.fleet.columns import NONE, arrow, clean, column_of, hashes, indices, named, numbers, repeated, table
from undwarf.fleet.kernels.content_hashes import frame_hashes, stack_hashes
from undwarf.fleet.kernels.stack_lists import file_offsets, lists_of_tree
from undwarf.fleet.labels import DEFAULT_SERVICE, Shipped, Where, of_cgroup
from undwarf.fleet.layout import schema
from undwarf.fleet.symbol_rows import symbol_rows
from undwarf.fleet.type_rows import PRECISIONS, Known, places_of, sampled_as, type_rows, unread_rows
from undwarf.images import ImageKind
from undwarf.images.image_kind import ADDRESSED_AS_RUN
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.access_resolution import resolve_places
from undwarf.profile.grouping import Pairs, look_up, rows_set, widen
from undwarf.profile.skid_kinds import StopKind
from undwarf.profile.stack_order import distinct
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.data.access_labels import latency_of

if TYPE_CHECKING:
    import pyarrow

    from undwarf.api import OpenedRecording, Profile
    from undwarf.images import Image
    from undwarf.symbols.inlines import Inlines

Tables = dict[str, "pyarrow.Table"]
DAY = 86_400_000_000
"""Microseconds."""
LATEST = 1 << 53
"""Microseconds since 1970 beyond which a recording's clock is wrong."""
_GENERATED = ("anon", "jit", "jitdump")


class Part(NamedTuple):
    """The tables of one recording for one day and service; ``day`` as in 2026-11-28."""

    day: str
    service: str
    tables: Tables


def text_hash(*parts: str) -> bytes:
    """The hash of texts, each ended by a zero byte."""
    text = b"".join(part.encode("utf-8", "backslashreplace") + b"\0" for part in parts)
    return hashlib.blake2b(text, digest_size=16).digest()


def is_named_later(image: "Image") -> bool:
    """Whether an image's code can be named at any time, by its build-id."""
    if image.kind is not ImageKind.FILE:
        return False
    if not image.build_id:
        # It is known once the file is open.
        _ = image.elf
    return bool(image.build_id)


def is_typed_later(image: "Image") -> bool:
    """Whether what an image's instructions access can be found at any time: by build-id, and in the kernel and its
    modules by the name of the function and the offset in it."""
    return is_named_later(image) or (image.kind in (ImageKind.KERNEL, ImageKind.MODULE) and bool(image.build_id))


def tables_of(opened: "OpenedRecording", recording: bytes, size: int, about: Shipped, ended: int) -> list[Part]:
    """The tables of a recording by day. ``recording``: its hash, ``size`` in bytes, ``ended``: ns since 1970 at which
    its last sample was taken, if nothing else says it."""
    pa = arrow()
    opened.know_perf_maps(dict(about.perf_maps))
    profile = opened.profile(jobs=1, inline=False, lines=False, names=lambda image: not is_named_later(image))
    labels = dict(about.labels)
    service = labels.pop("service", "") or DEFAULT_SERVICE
    host = labels.pop("host", "") or clean(opened.header.hostname or "") or "unknown"
    samples = profile.samples.columns
    image_words = _image_hashes(profile)
    sampled = _sampled(opened, profile)
    frames, symbols, frame_words = _frames(opened, profile, image_words, sampled)
    node_words = stack_hashes(profile.stacks.parent, profile.stacks.frame, frame_words)
    node_hashes, image_ids = hashes(node_words), hashes(image_words)
    used = distinct(samples.stack, len(profile.stacks))
    starts, flat = lists_of_tree(profile.stacks.parent, profile.stacks.frame, used)
    listed = pa.ListArray.from_arrays(numbers(starts).cast(pa.int32()), hashes(frame_words).take(numbers(flat)))
    when = _times(opened, profile, about, ended)
    count = len(samples)
    named_columns = _cgroup_columns(opened, profile, about)
    release = labels.get("release")
    stops = [next((one.name for one in StopReason if one == number), "") for number in range(max(StopReason) + 1)]
    rows = table(
        "samples",
        {
            "recording": pa.repeat(pa.scalar(recording, pa.binary(16)), count),
            "host": repeated(host, count),
            "release": repeated(release, count),
            **named_columns,
            "time": when,
            "pid": _known(samples.pid),
            "tid": _known(samples.tid),
            "cpu": _known(samples.cpu),
            "comm": named(indices(samples.comm), profile.comms),
            "event": named(numbers(samples.event).cast(pa.int32()), [event.name for event in profile.events]),
            "period": _signed(samples.period),
            "stack": node_hashes.take(indices(samples.stack)),
            "stop": named(numbers(samples.stop).cast(pa.int32()), stops),
            "stop_image": image_ids.take(indices(samples.stop_image)),
            "data_source": _recorded(samples.data_src, count),
            "latency": _recorded(latency_of(profile, 0) if samples.weight is not None else None, count),
            "data_page_size": _recorded(samples.data_page_size, count),
        },
    )
    shared = {
        "stacks": table("stacks", {"id": node_hashes.take(numbers(used)), "frames": listed}),
        "frames": frames,
        "images": _images(profile, image_ids),
        "symbols": symbols,
        "types": _types(opened, profile, sampled, frame_words),
    }
    first_day = _day(pa.compute.min(when).cast(pa.int64()).as_py() or 0) if count else _day(ended // 1000)
    about_it = _recording(opened, profile, recording, size, host, labels, when)
    parts = []
    for day, chosen in _by_day(rows) if count else [(first_day, rows)]:
        parts.append(
            Part(
                day,
                service,
                {"samples": chosen, **shared, "recordings": about_it if day == first_day else about_it.slice(0, 0)},
            )
        )
    return parts


def _by_day(rows: "pyarrow.Table") -> "Iterator[tuple[str, pyarrow.Table]]":
    pa = arrow()
    days = pa.compute.divide(rows["time"].cast(pa.int64()), DAY)
    for day in sorted(pa.compute.unique(days).to_pylist()):
        chosen = (
            rows if pa.compute.all(pa.compute.equal(days, day)).as_py() else rows.filter(pa.compute.equal(days, day))
        )
        yield _day(day * DAY), chosen


def _day(microseconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(microseconds / 1e6, UTC).date().isoformat()


def _signed(column: memoryview) -> Any:
    """Unsigned numbers as signed ones of 64 bits; larger ones become the largest."""
    pa = arrow()
    return pa.compute.min_element_wise(numbers(column), pa.scalar((1 << 63) - 1, pa.uint64())).cast(pa.int64())


def _recorded(column: memoryview | None, count: int) -> Any:
    """What samples have of their access, as signed numbers of the same bits; null where it is 0."""
    pa = arrow()
    if column is None:
        return pa.nulls(count, pa.int64())
    found = numbers(column).view(pa.int64())
    return pa.compute.if_else(pa.compute.equal(found, 0), None, found)


def _known(column: memoryview) -> Any:
    """Ids, null where they are -1."""
    pa = arrow()
    found = numbers(column)
    return pa.compute.if_else(pa.compute.less(found, 0), None, found)


def _times(opened: "OpenedRecording", profile: "Profile", about: Shipped, ended: int) -> Any:
    """The time of each sample, by the wall clock: as the header has it, else as whoever shipped the recording says,
    else so that the last sample is at ``ended``."""
    pa = arrow()
    times = profile.samples.columns.time
    recorded = [time for time in (min(times, default=0), max(times, default=0)) if time]
    clock = opened.header.clock_data
    if clock is not None:
        offset = clock.wall - clock.clock
    elif recorded and about.start is not None:
        offset = about.start - recorded[0]
    else:
        last = about.end if about.end is not None else ended
        offset = last - (recorded[-1] if recorded else 0)
    micro = pa.compute.divide(pa.compute.add(_signed(times), pa.scalar(offset, pa.int64())), 1000)
    micro = pa.compute.min_element_wise(pa.compute.max_element_wise(micro, 0), LATEST)
    return micro.cast(pa.timestamp("us"))


def _image_hashes(profile: "Profile") -> memoryview:
    """The hashes (Q, two words each) of the images."""
    texts = b"".join(text_hash(image.kind, image.build_id, image.name) for image in profile.images)
    return memoryview(array("Q", texts)) if texts else zeros("Q", 0)


def _sampled(opened: "OpenedRecording", profile: "Profile") -> memoryview:
    """How samples were taken in each frame (i), as ``frames.sampled``."""
    of_event = zeros("I", max(len(profile.events), 1))
    for event in range(len(profile.events)):
        of_event[event] = sampled_as(_kind(opened, event))
    samples = profile.samples.columns
    pairs = Pairs()
    pairs.column(look_up(samples.stack, profile.stacks.frame), look_up(widen(samples.event), of_event))
    found = zeros("i", len(profile.frames))
    for frame, how in zip(pairs.high(), pairs.low(), strict=True):
        if frame != NONE:
            found[frame] = max(found[frame], how)
    return found


def _kind(opened: "OpenedRecording", event: int) -> StopKind:
    """Where the samples of an event stop."""
    stops = opened.event_stops
    return StopKind.AFTER if event in stops.after else StopKind.AT if event in stops.at else StopKind.LATE


def _types(
    opened: "OpenedRecording", profile: "Profile", sampled: memoryview, frame_words: memoryview
) -> "pyarrow.Table":
    """What the instructions access with samples in code that has no build-id."""
    pa = arrow()
    frames, store, types = profile.frames, opened.images, opened.types
    later = [is_typed_later(image) for image in store.images]
    of_image = [i for i, how in enumerate(sampled) if how and (frames.image[i] == NONE or not later[frames.image[i]])]
    reasons: dict[str, int] = {}
    unread = array("I"), array("I")
    chosen = []
    found_of: dict[int, Any] = {NONE: "code of no file"}
    for i in of_image:
        number = frames.image[i]
        if number not in found_of:
            found_of[number] = types.in_file(number)
        found = found_of[number]
        if isinstance(found, str):
            unread[0].append(i)
            unread[1].append(reasons.setdefault(found, len(reasons)))
        else:
            chosen.append(Known(bytes(frame_words[2 * i : 2 * i + 2]), sampled[i], number, frames.address[i]))
    made = []
    if unread[0]:
        taken = numbers(memoryview(unread[0]))
        why = named(numbers(memoryview(unread[1])).cast(pa.int32()), list(reasons))
        addresses = numbers(frames.address).take(taken).view(pa.int64())
        made.append(unread_rows(hashes(frame_words).take(taken), addresses, why))
    if chosen:
        places = places_of(chosen)
        resolved = resolve_places(places, types, answers_of=types.answers, contained=types.contained)
        made.append(type_rows(chosen, dict(zip(places, resolved, strict=True))))
    return pa.concat_tables(made) if made else schema("types").empty_table()


def _frames(
    opened: "OpenedRecording", profile: "Profile", image_words: memoryview, sampled: memoryview
) -> "tuple[pyarrow.Table, pyarrow.Table, memoryview]":
    """(the table of frames, the names of those that are named now, the hashes (Q, two words) of all)."""
    pa = arrow()
    frames, functions, store = profile.frames, profile.functions, opened.images
    count = len(frames)
    later = [is_named_later(image) for image in store.images]
    starts, segments = zeros("I", len(store) + 1), array("Q")
    used = set(frames.image)
    for image in store.images:
        if image.number in used and image.kind is ImageKind.FILE:
            for offset, size, start, _flags in image.load_segments():
                segments.extend((start, size, offset))
        starts[image.number + 1] = len(segments) // 3
    offsets = file_offsets(frames.image, frames.address, starts, memoryview(segments))
    names: dict[str, int] = {}
    name_of = absent("I", count)
    returns = frames.is_return if frames.is_return is not None else zeros("B", count)
    of_return = pa.compute.multiply(numbers(returns).cast(pa.uint32()), pa.scalar(256, pa.uint32()))
    flags = column_of(pa.compute.add(numbers(frames.provenance).cast(pa.uint32()), of_return))
    unlisted = bytes(image.kind in ADDRESSED_AS_RUN or image.kind is ImageKind.JITDUMP for image in store.images)
    now = memoryview(array("I", [not one for one in later]))
    # Frames in no image are among them.
    kept = rows_set(look_up(frames.image, now))
    for i in kept:
        function, image_number = frames.function[i], frames.image[i]
        name_of[i] = names.setdefault(functions.name[function], len(names))
        if image_number == NONE or unlisted[image_number]:
            # Run-time addresses differ between boots and processes.
            start = functions.address[function]
            offsets[i] = frames.address[i] - start if 0 < start <= frames.address[i] else 0
    texts = b"".join(text_hash(name) for name in names)
    frame_words = frame_hashes(
        image_words,
        frames.image,
        offsets,
        flags,
        memoryview(array("Q", texts)) if texts else zeros("Q", 0),
        name_of,
    )
    rows = table(
        "frames",
        {
            "id": hashes(frame_words),
            "image": hashes(image_words).take(indices(frames.image)),
            "code_offset": _signed(offsets),
            "name": named(indices(name_of), list(names)).cast(pa.string()),
            "is_return": pa.compute.greater_equal(numbers(flags), 256),
            "provenance": named(numbers(frames.provenance).cast(pa.int32()), provenances()),
            "sampled": numbers(sampled),
        },
    )
    at_run = [
        image_number == NONE or bool(unlisted[image_number]) for image_number in map(frames.image.__getitem__, kept)
    ]
    function_starts = [0 if run else functions.address[frames.function[i]] for i, run in zip(kept, at_run, strict=True)]
    symbols = symbol_rows(
        hashes(frame_words),
        kept,
        [functions.name[frames.function[i]] for i in kept],
        function_starts,
        [bool(functions.unnamed[frames.function[i]]) for i in kept],
        _inlined(opened, profile, later, kept),
    )
    return rows, symbols, frame_words


def _inlined(opened: "OpenedRecording", profile: "Profile", later: list[bool], kept: memoryview) -> "Inlines | None":
    """Inlined functions and lines of the frames that are named now, None if none can have any."""
    store, frames = opened.images, profile.frames
    of_image = zeros("I", len(store))
    any_lines = False
    used = {frames.image[i] for i in kept}
    for image in store.images:
        wanted = not later[image.number] and image.runs_at_file_addresses and image.number in used
        of_image[image.number] = image.number if wanted else NONE
        any_lines = any_lines or wanted
    if not any_lines:
        return None
    from undwarf.symbols.inlines import find_inlines

    return find_inlines(store, look_up(frames.image, of_image), frames.address, opened.lines)


def provenances() -> list[str]:
    """Names of provenances by number."""
    return [next((one.name for one in Provenance if one == number), "") for number in range(max(Provenance) + 1)]


def _images(profile: "Profile", image_ids: Any) -> "pyarrow.Table":
    """The images with frames, those in which stacks end, and what advice on generated code is about."""
    pa = arrow()
    images = profile.images
    used = set(profile.frames.image) | set(profile.samples.columns.stop_image)
    generated = any(images[number].kind in _GENERATED for number in used if number != NONE)
    chosen = [
        number
        for number, image in enumerate(images)
        if number in used or image.kind == "jitdump" or (generated and image.kind == "file")
    ]
    return table(
        "images",
        {
            "id": image_ids.take(pa.array(chosen, pa.int32())),
            "name": pa.array([clean(images[number].name) for number in chosen], pa.string()),
            "path": pa.array([clean(images[number].path) for number in chosen], pa.string()),
            "build_id": pa.array([images[number].build_id for number in chosen], pa.string()),
            "kind": named(pa.array(range(len(chosen)), pa.int32()), [images[number].kind for number in chosen]),
            "problem": pa.array([clean(images[number].problem) for number in chosen], pa.string()),
        },
    )


def _cgroup_columns(opened: "OpenedRecording", profile: "Profile", about: Shipped) -> dict[str, Any]:
    """The columns ``container`` and ``pod``: as the sample's control group has them, else its process, else labels."""
    pa = arrow()
    samples = profile.samples.columns
    count = len(samples)
    if samples.cgroup is None and not about.processes:
        return {name: repeated(about.labels.get(name), count) for name in Where._fields}
    side, texts = opened.records.sideband, opened.records.names
    groups = dict(about.cgroups)
    for row, kind in enumerate(side.kind):
        if kind == SidebandKind.CGROUP:
            groups.setdefault(side.cgroups.id[row], of_cgroup(texts[side.name[row]].decode("utf-8", "replace")))
    ids: dict[int, int] = {}
    group = zeros("I", count)
    for i, id_ in enumerate(samples.cgroup if samples.cgroup is not None else ()):
        group[i] = ids.setdefault(id_, len(ids))
    id_of = list(ids) or [0]
    pairs = Pairs()
    place = pairs.column(group, widen(samples.pid))
    nowhere = Where("", "")
    wheres = []
    for number, bits in zip(pairs.high(), pairs.low(), strict=True):
        by_group = groups.get(id_of[number], nowhere)
        by_process = about.processes.get(bits, nowhere)
        wheres.append([one or other for one, other in zip(by_group, by_process, strict=True)])
    return {
        name: pa.array([clean(where[part]) or about.labels.get(name) for where in wheres], pa.string())
        .take(numbers(place))
        .dictionary_encode()
        for part, name in enumerate(Where._fields)
    }


def _recording(
    opened: "OpenedRecording",
    profile: "Profile",
    recording: bytes,
    size: int,
    host: str,
    labels: dict[str, str],
    when: Any,
) -> "pyarrow.Table":
    """The row of the table of recordings."""
    pa = arrow()
    group_of = {}
    for number, (_name, leader, members) in enumerate(opened.header.groups):
        if members > 1:
            group_of.update(dict.fromkeys(range(leader, leader + members), number))
    damage: dict[str, int] = {}
    for defect in opened.defects:
        damage[clean(defect.kind)] = damage.get(clean(defect.kind), 0) + defect.count
    row = {
        "id": recording,
        "host": host,
        "release": labels.get("release"),
        "started": pa.compute.min(when).as_py(),
        "ended": pa.compute.max(when).as_py(),
        "samples": len(profile.samples),
        "lost": min(opened.records.lost, (1 << 63) - 1),
        "bytes": size,
        "osrelease": clean(opened.header.osrelease or ""),
        "arch": clean(opened.header.arch or ""),
        "stack_dump": opened.stack_dump,
        "stitched": profile.stitched,
        "recorder": profile.recorder,
        "unwind_order": list(profile.unwind_order),
        "events": [
            {
                "name": clean(event.name),
                "packed": event.packed,
                "chains": event.chains,
                "unit": event.unit,
                "group": group_of.get(number),
                "precision": PRECISIONS[_kind(opened, number)],
            }
            for number, event in enumerate(profile.events)
        ],
        "labels": sorted((clean(name), clean(value)) for name, value in labels.items()),
        "damage": sorted(damage.items()),
    }
    return pa.Table.from_pylist([row], schema=schema("recordings"))


def recording_id(digest: bytes) -> bytes:
    """A recording's id, of the SHA-256 of its file."""
    return struct.unpack("16s", digest[:16])[0]  # type: ignore[no-any-return]
