"""Events of a machine's PMUs by terms, as sysfs describes them: ``cpu/event=0x3c,umask=1/u``, ``cpu/cache-misses/``.

A PMU is a directory in /sys/bus/event_source/devices: ``type`` is its number, ``format`` has for each term the bits of
the event's configuration, ``events`` has names for combinations of terms. Source: kernel,
``Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}``.
"""

import re
from dataclasses import replace
from pathlib import Path

from undwarf.errors import UndwarfError, UsageError
from undwarf.perfdata.events import EventAttr

DEVICES = "/sys/bus/event_source/devices"
_SPELLED = re.compile(r"([A-Za-z0-9_.-]+)/([^/]*)/")
_FIELDS = ("config", "config1", "config2")


def spelled_out(text: str) -> tuple[str, list[tuple[str, str]], str] | None:
    """The PMU, the terms and the modifiers of an event with slashes; None for any other text."""
    found = _SPELLED.match(text)
    if found is None:
        return None
    pairs = [part.strip().partition("=") for part in found[2].split(",") if part.strip()]
    return found[1], [(key.strip(), value.strip()) for key, _equals, value in pairs], text[found.end() :]


def with_terms(event: EventAttr, terms: list[tuple[str, str]], unit: Path | None = None) -> EventAttr:
    """The event with terms applied: those that all events have, and those of its ``unit``. Raises UsageError."""
    for key, value in terms:
        if key in ("period", "freq"):
            event = replace(event, sample_period=_number(key, value), freq=key == "freq")
        elif key == "name":
            event = replace(event, name=value)
        elif key in _FIELDS and value:
            event = _with_config(event, key, _number(key, value))
        elif unit is not None and (unit / "format" / key).is_file():
            event = _with_bits(event, key, _number(key, value or "1"), _content(unit / "format" / key))
        elif unit is not None and not value and (unit / "events" / key).is_file():
            found = spelled_out(f"{unit.name}/{_content(unit / 'events' / key)}/")
            event = with_terms(event, found[1] if found else [], unit)
        else:
            raise UsageError(f"unknown term {key!r} of an event", "", f"known are {', '.join(_known(unit))}")
    return event


def unit_event(blank: EventAttr, name: str, terms: list[tuple[str, str]]) -> EventAttr:
    """``blank`` as the event of a PMU. Raises UsageError, and UndwarfError if there is no such PMU."""
    unit = Path(DEVICES) / name
    try:
        number = int(_content(unit / "type"))
    except (OSError, ValueError) as error:
        raise UndwarfError(
            f"no events of {name}", "this machine has no such PMU", f"ls {DEVICES} has those it has"
        ) from error
    return with_terms(replace(blank, type=number), terms, unit)


def _with_config(event: EventAttr, field: str, value: int) -> EventAttr:
    if field == "config":
        return replace(event, config=value)
    return replace(event, config1=value) if field == "config1" else replace(event, config2=value)


def _with_bits(event: EventAttr, key: str, value: int, layout: str) -> EventAttr:
    """Put a value into the bits of its format, lowest first: ``config:0-7,21``."""
    field, _colon, places = layout.partition(":")
    if field not in _FIELDS:
        raise UsageError(f"term {key!r} is in {field}, which is not supported yet")
    bits: list[int] = []
    for part in places.split(","):
        first, _dash, last = part.partition("-")
        bits += range(int(first), int(last or first) + 1)
    if value >> len(bits):
        raise UsageError(f"term {key!r} has {len(bits)} bits, too few for {value:#x}")
    placed = sum((value >> i & 1) << bit for i, bit in enumerate(bits))
    return _with_config(event, field, getattr(event, field) | placed)


def _known(unit: Path | None) -> list[str]:
    names = ["period", "freq", "name", "config"]
    for folder in ("format", "events"):
        if unit is not None and (unit / folder).is_dir():
            names += sorted(file.name for file in (unit / folder).iterdir() if "." not in file.name)
    return names


def _number(key: str, value: str) -> int:
    try:
        number = int(value, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise UsageError(f"term {key!r} needs a number, not {value!r}")
    return number


def _content(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace").strip()
