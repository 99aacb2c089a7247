"""What rows and nodes of a page refer to: frames, functions, images, source files, processes and threads.

Things that ``report`` has in one row are one thing here: functions of equal name and file, images of equal name.
"""

from typing import Any, NamedTuple

from undwarf.column import absent, longer, zeros
from undwarf.ordering import group, sort_order, take
from undwarf.profile.grouping import Pairs, look_up, sums, widen
from undwarf.profile.labels import UNKNOWN, dso, is_kernel, kind_of, short_dso
from undwarf.profile.model import NONE, ImageInfo, Profile
from undwarf.profile.stack_order import distinct
from undwarf.unwind.provenance import Provenance
from undwarf.views.kernels.page_columns import frame_flags, low_bits
from undwarf.views.sample_selection import signed

CUT = "[light stacks]"
"""The function of nodes that stand for those that were cut."""
_DATA_TYPES = "data types"
_WEAKER = frozenset({
    Provenance.FRAME_POINTER, Provenance.NOTHING, Provenance.OTHER_DUMP, Provenance.MOVED_CODE,
    Provenance.INFERRED_CALLER, Provenance.RETURN_ADDRESS, Provenance.UNPROVEN,
})  # fmt: skip
"""How frames were found that neither a rule nor a recorded chain gives."""
_IS_WEAKER = memoryview(bytes(number in _WEAKER for number in range(256)))
_GENERATED = ("ANON", "JIT", "JITDUMP")


class Images:
    """The images of a page, numbered when they are first asked for; ``rows`` describe them."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._numbers: dict[tuple[str, bool], int] = {}
        self._of_image: dict[int, int] = {}
        self.rows: list[dict[str, str | None]] = []

    def number(self, image: int) -> int:
        """The number of one of the profile's images; NONE stays NONE."""
        if image == NONE:
            return NONE
        found = self._of_image.get(image)
        if found is None:
            info = self._profile.images[image]
            label = dso(info)
            key = (label, is_kernel(info))
            if key not in self._numbers:
                self._numbers[key] = self._add(
                    short_dso(info), label if label != UNKNOWN else None, info.build_id or None, _kind(info)
                )
            found = self._of_image[image] = self._numbers[key]
        return found

    def data_types(self) -> int:
        """The number of the image of data types, which are frames in trees by type."""
        return self._numbers.setdefault(("", False), self._add(_DATA_TYPES, None, None, "type"))

    def _add(self, name: str, path: str | None, build_id: str | None, kind: str) -> int:
        self.rows.append({"name": name, "path": path, "build_id": build_id, "kind": kind})
        return len(self.rows) - 1


def _kind(image: ImageInfo) -> str:
    if is_kernel(image):
        return "kernel"
    kind = kind_of(image)
    if kind in _GENERATED:
        return "jit"
    if kind == "VDSO":
        return "vdso"
    return "library" if ".so" in image.path.rsplit("/", 1)[-1] else "program"


class Frames(NamedTuple):
    """The frames of a page: ``columns`` by name, ``number`` (I) of each of the profile's frames; ``functions`` are
    names, ``functions_of`` the profile's functions that each stands for; ``files`` are source files."""

    columns: dict[str, memoryview]
    number: memoryview
    functions: list[str | None]
    functions_of: list[list[int]]
    files: list[str]


def frames_of(profile: Profile, node_frame: memoryview, images: Images) -> Frames:
    """The frames that nodes have; number ``len(profile.frames)`` stands for stacks that were cut."""
    frames = profile.frames
    known = len(frames)
    used = distinct(node_frame, known + 1)
    cut = len(used) > 0 and used[-1] == known
    if cut:
        used = used[:-1]
    # By file and address: neighbours have the same function and source file.
    by_address = take(used, sort_order(take(frames.address, used)))
    order = take(by_address, group(take(frames.image, by_address), len(profile.images))[0])
    of_function, functions, columns, functions_of = _functions(profile, take(frames.function, order), images)
    of_file, files = _files(profile, order)
    of_image = zeros("I", len(profile.images))
    for image in distinct(take(frames.image, order), len(of_image)):
        of_image[image] = images.number(image)
    found = {
        "frame_function": look_up(take(frames.function, order), of_function),
        "frame_image": look_up(take(frames.image, order), of_image),
        "frame_file": of_file,
        "frame_line": take(frames.line, order) if frames.line is not None else zeros("I", len(order)),
        "frame_address": low_bits(take(frames.address, order)),
        "frame_inline": take(frames.inline_depth, order),
        "frame_flags": frame_flags(
            take(frames.provenance, order),
            take(frames.is_return, order) if frames.is_return is not None else None,
            _IS_WEAKER,
        ),
    }
    numbers = zeros("I", known + 1)
    for name in found if cut else ():
        found[name] = longer(found[name], len(order), len(order) + 1)
    if cut:
        found["frame_function"][len(order)] = len(functions)
        found["frame_image"][len(order)] = found["frame_file"][len(order)] = NONE
        functions.append(CUT)
        functions_of.append([])
        for name, value in (("function_image", NONE), ("function_address", 0), ("function_flags", 1)):
            columns[name] = longer(columns[name], len(functions) - 1, len(functions))
            columns[name][len(functions) - 1] = value
        numbers[known] = len(order)
    for number, frame in enumerate(order):
        numbers[frame] = number
    return Frames({**found, **columns}, numbers, functions, functions_of, files)


def _functions(
    profile: Profile, used: memoryview, images: Images
) -> tuple[memoryview, list[str | None], dict[str, memoryview], list[list[int]]]:
    """(number (I) of each of the profile's functions, names, columns, the profile's functions of each)."""
    functions = profile.functions
    numbers: dict[tuple[str, int], int] = {}
    of_function = zeros("I", len(functions))
    functions_of: list[list[int]] = []
    for number in distinct(used, len(functions)):
        name = functions.name[number]
        image = images.number(functions.image[number])
        if image == NONE and name != UNKNOWN and profile.origin is None:
            image = images.data_types()
        found = numbers.setdefault((name, image), len(numbers))
        if found == len(functions_of):
            functions_of.append([])
        functions_of[found].append(number)
        of_function[number] = found
    count = len(numbers)
    image_of, address, flags = zeros("I", count), zeros("Q", count), zeros("B", count)
    for (_name, image), number in numbers.items():
        first = functions_of[number][0]
        image_of[number], address[number] = image, functions.address[first]
        flags[number] = functions.unnamed[first]
    names = [name if name and name != UNKNOWN else None for name, _image in numbers]
    columns = {"function_image": image_of, "function_address": low_bits(address), "function_flags": flags}
    return of_function, names, columns, functions_of


def _files(profile: Profile, order: memoryview) -> tuple[memoryview, list[str]]:
    """(number (I) of the source file of each frame, the files)."""
    if profile.frames.file is None:
        return absent("I", len(order)), []
    column = take(profile.frames.file, order)
    of_file = zeros("I", len(profile.files))
    numbers: dict[str, int] = {}
    for file in distinct(column, len(of_file)):
        of_file[file] = numbers.setdefault(profile.files[file], len(numbers))
    return look_up(column, of_file), list(numbers)


class Threads(NamedTuple):
    """``column`` (I): the thread of each sample. A thread is a thread id under one name: names change."""

    column: memoryview
    threads: list[dict[str, Any]]
    processes: list[dict[str, Any]]


def threads_of(profile: Profile) -> Threads:
    """The threads and processes that have samples."""
    samples = profile.samples.columns
    ids, names = Pairs(1024), Pairs(1024)
    column = names.column(ids.column(widen(samples.pid), widen(samples.tid)), samples.comm)
    counts = sums(column, None, len(names))
    pids, tids = ids.high(), ids.low()
    numbers: dict[int, int] = {}
    names_of: list[dict[str, int]] = []
    threads = []
    for pair, comm, count in zip(names.high(), names.low(), counts, strict=True):
        pid, tid = signed(pids[pair]), signed(tids[pair])
        name = profile.comms[comm] if comm != NONE else None
        process = numbers.setdefault(pid, len(numbers))
        if process == len(names_of):
            names_of.append({})
        if name is not None:
            # The name of its main thread, else that of most samples.
            weight = count + (1 << 64 if pid == tid else 0)
            names_of[process][name] = names_of[process].get(name, 0) + weight
        threads.append(
            {
                "tid": tid if tid >= 0 else None,
                "process": process,
                "name": name,
                "idle": pid == 0 and (name or "").partition("/")[0] == "swapper",
            }
        )
    processes = [
        {"pid": pid if pid >= 0 else None, "name": max(known, key=lambda name: known[name]) if known else None}
        for (pid, _number), known in zip(numbers.items(), names_of, strict=True)
    ]
    return Threads(column, threads, processes)
