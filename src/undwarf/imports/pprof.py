"""pprof's profiles: what Go's runtime/pprof, gperftools, perf_data_converter, Parca and others write.

Each sample type is an event. Of the labels, those are read that perf_data_converter gives to samples of perf. Source:
``proto/profile.proto`` (google/pprof), ``src/perf_data_converter.h`` (google/perf_data_converter).
"""

from array import array
from functools import cached_property

from undwarf.errors import UnreadableInput
from undwarf.imports.kernels.pprof_messages import PprofSamples, lines, numbers, parts
from undwarf.imports.profile_builder import LARGEST, UNITS, Built, ProfileBuilder, text_of
from undwarf.profile.grouping import look_up
from undwarf.profile.model import NONE, Origin

FIELD_NAMES = 16
"""The number above those of the fields of Profile."""
SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRINGS = range(1, 7)
DEFAULT_SAMPLE_TYPE = 14
"""Fields of Profile that are read."""
LABELS = ("pid", "tid", "timestamp_ns", "thread_comm", "comm")
"""Keys of labels that are read: ids, ns since the machine started, names of the thread and of its process."""
_NOTHING = (1 << 64) - 1
_SPECIAL = {"[vdso]": "vdso", "[kernel.kallsyms]": "kernel", "//anon": "anon", "[anon]": "anon"}


class Messages:
    """The parts of a profile, as columns."""

    def __init__(self, data: bytes, builder: ProfileBuilder) -> None:
        self.data = data
        self._builder = builder
        self._starts, self._ends, self.read, _other = parts(data, FIELD_NAMES)

    def count(self, field: int) -> int:
        """The number of a field's messages."""
        return len(self._starts[field])

    def places(self, field: int) -> tuple[memoryview, memoryview]:
        """Where a field's messages start and end."""
        return self._starts[field], self._ends[field]

    def rows(self, field: int, width: int, what: str) -> list[memoryview]:
        """Columns of the first ``width`` numbers of a field's messages."""
        return self.columns(*self.places(field), width, what)

    def columns(self, starts: memoryview, ends: memoryview, width: int, what: str) -> list[memoryview]:
        """Columns of the first ``width`` numbers of some messages."""
        found, damaged = numbers(self.data, starts, ends, width)
        self._builder.damage(f"damaged {what}", damaged)
        return [found[number::width] for number in range(width)]

    def number(self, field: int) -> int:
        """A number of the profile itself; 0 if it is not there."""
        whole = memoryview(array("Q", [0])), memoryview(array("Q", [len(self.data)]))
        found, _damaged = numbers(self.data, *whole, FIELD_NAMES)
        return int(found[field - 1])

    @cached_property
    def _text_count(self) -> int:
        return self.count(STRINGS)

    def number_of_text(self, text: str) -> int:
        """The number of a string in the table; 0 if it is not there."""
        raw = text.encode()
        places = zip(*self.places(STRINGS), strict=True)
        return next((i for i, (a, b) in enumerate(places) if b - a == len(raw) and self.data[a:b] == raw), 0)

    def text(self, number: int) -> str:
        """A string of the table; empty for one that is not there."""
        if not 0 < number < self._text_count:
            if number:
                self._builder.damage("string that is not in the table")
            return ""
        return text_of(self.data[self._starts[STRINGS][number] : self._ends[STRINGS][number]])


def read(data: bytes, builder: ProfileBuilder, kind: type[Built]) -> Built:
    """The profile in these bytes, which are not compressed."""
    messages = Messages(data, builder)
    if messages.read < len(data):
        # Strings, the last of the large parts, would be missing: nothing would have a name.
        why = f"it is cut short or damaged: there is no field of pprof's Profile at byte {messages.read:,}"
        raise UnreadableInput(f"cannot read {builder.path}", why, "get a complete copy")
    types, units = messages.rows(SAMPLE_TYPE, 2, "sample type")
    if not len(types):
        raise UnreadableInput(f"cannot read {builder.path}", "it is no profile of pprof: it has no sample types")
    order = list(range(len(types)))
    default = _default_type(messages, types)
    order.insert(0, order.pop(default))
    number_of, scales = array("H", bytes(2 * len(types))), []
    for number, at in enumerate(order):
        name, unit = messages.text(types[at]), messages.text(units[at])
        if builder.event(name or f"sample type {at}", unit) != number:
            # Another sample type has this name and unit.
            builder.event(f"{name} ({at})", unit)
        number_of[at] = number
        scales.append(UNITS.get(unit, 1))
    return _samples(messages, builder, _frames(messages, builder), memoryview(number_of), scales, kind)


def _default_type(messages: Messages, types: memoryview) -> int:
    """The sample type that is shown first: that of ``default_sample_type``, else the last, as in pprof."""
    wanted = messages.number(DEFAULT_SAMPLE_TYPE)
    return next((at for at, type_ in enumerate(types) if wanted and type_ == wanted), len(types) - 1)


def _images(messages: Messages, builder: ProfileBuilder) -> dict[int, int]:
    """The image of each mapping's id."""
    found = {}
    ids, _start, _limit, _offset, files, build_ids = messages.rows(MAPPING, 6, "mapping")
    for number, file, build_id in zip(ids, files, build_ids, strict=True):
        name = messages.text(file)
        if name:
            found[number] = builder.image(name, _SPECIAL.get(name, "file"), build_id=messages.text(build_id))
    return found


class Frames:
    """Frames by location: ``ids``, ascending (Q), with the ``number`` of each (I); the ``first`` frame of each number
    in ``frames``, outermost function first (I). ``unknown`` is the frame of any other location."""

    def __init__(
        self, ids: memoryview, number: memoryview, first: memoryview, frames: memoryview, unknown: int
    ) -> None:
        self.ids, self.number, self.first, self.frames, self.unknown = ids, number, first, frames, unknown


def _frames(messages: Messages, builder: ProfileBuilder) -> Frames:
    image_of = _images(messages, builder)
    ids, names, system_names, files, _line = messages.rows(FUNCTION, 5, "function")
    function_of = {
        number: (messages.text(name) or messages.text(system_name), messages.text(file))
        for number, name, system_name, file in zip(ids, names, system_names, files, strict=True)
    }
    ids, mappings, addresses = messages.rows(LOCATION, 3, "location")
    starts, ends, first_line = lines(messages.data, *messages.places(LOCATION))
    line_functions, line_numbers = messages.columns(starts, ends, 2, "line")
    first, frames = array("I"), array("I")
    lost = 0
    for at, (mapping, address) in enumerate(zip(mappings, addresses, strict=True)):
        first.append(len(frames))
        image = image_of.get(mapping, NONE)
        begin, end = first_line[at], first_line[at + 1]
        if begin == end:
            frames.append(builder.frame(builder.function("", image), address=address))
        # The last line is the function that the others are inlined into.
        for line in range(end - 1, begin - 1, -1):
            found = function_of.get(line_functions[line])
            lost += found is None
            name, file = found or ("", "")
            frames.append(
                builder.frame(
                    builder.function(name, image),
                    file=file,
                    line=line_numbers[line],
                    address=address,
                    depth=end - 1 - line,
                )
            )
    first.append(len(frames))
    builder.damage("function that is not in the profile", lost)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return Frames(
        memoryview(array("Q", [ids[number] for number in order])),
        memoryview(array("I", order)),
        memoryview(first),
        memoryview(frames),
        builder.frame(builder.function("")),
    )


def _samples(
    messages: Messages,
    builder: ProfileBuilder,
    frames: Frames,
    number_of: memoryview,
    scales: list[int],
    kind: type[Built],
) -> Built:
    label_keys = list(map(messages.number_of_text, LABELS))
    if not any(label_keys):
        label_keys = []
    samples = PprofSamples()
    whole = samples.read(
        messages.data,
        *messages.places(SAMPLE),
        (frames.ids, frames.number),
        (frames.first, frames.frames),
        frames.unknown,
        number_of,
        memoryview(array("Q", label_keys)),
        builder.limits.profile_nodes,
    )
    if not whole:
        raise builder.too_large()
    builder.damage("damaged sample", samples.damaged)
    builder.damage("sample with another number of values than there are sample types", samples.wrong)
    builder.damage("weight below 0, left out", samples.negative)
    builder.damage("location that is not in the profile", samples.lost)
    builder.tree(*samples.stacks())
    stack, value, event = samples.columns()
    if max(value, default=0) * max(scales) > LARGEST:
        raise UnreadableInput(f"cannot read {builder.path}", "its weights are times of more than 62 bits of ns")
    if any(scale > 1 for scale in scales):
        per_event = memoryview(array("I", scales))
        factor = look_up(memoryview(array("I", event)), per_event)
        value = memoryview(array("Q", [one * scale for one, scale in zip(value, factor, strict=True)]))
    builder.damage("damaged label", samples.damaged_labels)
    columns = _labels(samples.labels(), messages, builder)
    fields = {"dso": bool(builder.images), "line": bool(builder.files), "address": True, **dict.fromkeys(columns, True)}
    origin = Origin("a pprof profile", frozenset(field for field, has in fields.items() if has), sums=True)
    return builder.profile_of(stack, value, event, origin, kind, **columns)


def _labels(values: memoryview, messages: Messages, builder: ProfileBuilder) -> dict[str, memoryview]:
    """The columns that labels give, by name, if any sample has that label."""
    found: dict[str, memoryview] = {}
    width = len(LABELS)
    for at, (name, typecode) in enumerate((("pid", "i"), ("tid", "i"), ("time", "Q"))):
        column = values[at::width].tolist()
        if any(value != _NOTHING for value in column):
            most, without = (1 << 31) - 1 if typecode == "i" else LARGEST, -1 if typecode == "i" else 0
            found[name] = memoryview(array(typecode, [value if value <= most else without for value in column]))
    threads, processes = values[3::width].tolist(), values[4::width].tolist()
    names = [thread if thread != _NOTHING else process for thread, process in zip(threads, processes, strict=True)]
    number_of = {name: builder.comm(messages.text(name)) if name != _NOTHING else NONE for name in set(names)}
    if builder.comms:
        found["comm"] = memoryview(array("I", [number_of[name] for name in names]))
    return found
