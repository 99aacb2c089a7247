"""Labels of recordings and samples: those that were given, and what the path of a control group says."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from undwarf.errors import UnreadableInput, UsageError
from undwarf.fleet.layout import checked_label

DEFAULT_SERVICE = "default"
"""The service of recordings that name none."""
_CONTAINER = re.compile(r"(?:^|[/:-])(?P<id>[0-9a-f]{64})(?:\.scope)?(?=/|$)")
"""docker/ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, and with a colon as containerd
writes it below systemd: kubepods-burstable-podUID.slice:cri-containerd:ID."""
_POD = re.compile(r"(?:^|[/-])pod(?P<id>[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})")
MOST_JSON = 64 << 20
"""Bytes of the description of a recording; names of code without a file are most of it."""
_MOST_LABELS = 64


class Where(NamedTuple):
    """The container and Kubernetes pod of a control group; empty for none."""

    container: str
    pod: str


class Shipped(NamedTuple):
    """The metadata of a recording.

    ``start`` and ``end`` in ns since 1970, None if unknown; ``sha256`` is empty or hexadecimal. ``cgroups`` and
    ``processes``: where the control groups, by id, and processes were; ``kallsyms``: the kernel's symbols as of
    /proc/kallsyms; ``perf_maps``: perf maps by process.
    """

    labels: dict[str, str]
    start: int | None = None
    end: int | None = None
    sha256: str = ""
    cgroups: Mapping[int, Where] = {}
    processes: Mapping[int, Where] = {}
    kallsyms: bytes = b""
    perf_maps: Mapping[int, bytes] = {}


def parsed_labels(texts: "tuple[str, ...]") -> dict[str, str]:
    """The labels of texts ``NAME=VALUE``. Raises UsageError."""
    labels = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}", name):
            raise UsageError(f"{text[:80]!r} is no label", "", "give NAME=VALUE, as in service=web")
        labels[name] = checked_label(name, value)
    return labels


def shipped(text: bytes, path: str) -> Shipped:
    """What the JSON beside a recording says: an object with ``labels``, ``start``, ``end``, ``sha256``, ``cgroups``,
    ``cgroup_ids``, ``processes``, ``kallsyms`` and ``perf_maps``, all optional; others are left alone. Raises
    UnreadableInput if it is damaged."""
    try:
        document = json.loads(text) if len(text) <= MOST_JSON else None
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        labels = document.get("labels") or {}
        if len(labels) > _MOST_LABELS:
            raise ValueError(f"it has more than {_MOST_LABELS} labels")
        sha256 = str(document.get("sha256") or "")
        if sha256 and not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise ValueError("its sha256 is none")
        groups = [_where(group) for group in document.get("cgroups") or ()]
        return Shipped(
            parsed_labels(tuple(f"{name}={value}" for name, value in labels.items() if value)),
            _moment(document.get("start")),
            _moment(document.get("end")),
            sha256,
            {int(id_): groups[number] for id_, number in (document.get("cgroup_ids") or {}).items()},
            {int(pid): groups[number] for pid, number in (document.get("processes") or {}).items()},
            str(document.get("kallsyms") or "").encode(),
            {int(pid): str(lines).encode() for pid, lines in (document.get("perf_maps") or {}).items()},
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, UsageError) as error:
        raise UnreadableInput(f"cannot read {path}", f"its labels are damaged: {error}") from None


def _where(group: Any) -> Where:
    """The container and pod of a control group; what it does not say itself its path may."""
    path = of_cgroup(str(group.get("path") or ""))
    found = [str(group.get(name) or of_path) for name, of_path in zip(Where._fields, path, strict=True)]
    return Where(
        *(checked_label(name, value) if value else "" for name, value in zip(Where._fields, found, strict=True))
    )


def _moment(value: object) -> int | None:
    """Nanoseconds since 1970 of a time: seconds, or text as ISO 8601 has it."""
    if value is None:
        return None
    if isinstance(value, int | float):
        seconds = float(value)
    else:
        when = datetime.fromisoformat(str(value))
        seconds = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    if not 0 <= seconds < 1 << 33:
        raise ValueError("its times are out of range")
    return int(seconds * 1e6) * 1000


def of_cgroup(path: str) -> Where:
    """The container and pod that the path of a control group names, as container engines and the kubelet write it."""
    containers = [found["id"] for found in _CONTAINER.finditer(path)]
    pods = [found["id"].replace("_", "-") for found in _POD.finditer(path)]
    return Where(containers[-1] if containers else "", pods[-1] if pods else "")
