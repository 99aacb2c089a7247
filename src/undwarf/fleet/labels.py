"""Labels of recordings and samples: those that were given, and what the path of a control group says."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from undwarf.errors import UnreadableInput, UsageError
from undwarf.fleet.layout import checked_label

DEFAULT_SERVICE = "default"
"""The service of recordings that name none."""
_CONTAINER = re.compile(r"(?:^|[/:-])(?P<id>[0-9a-f]{64})(?:\.scope)?(?=/|$)")
"""docker/ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, and with a colon as containerd
writes it below systemd: kubepods-burstable-podUID.slice:cri-containerd:ID."""
_POD = re.compile(r"(?:^|[/-])pod(?P<id>[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})")
_MOST_JSON = 1 << 20
_OWN = ("start", "end", "sha256", "format", "version")
"""Properties beside a recording's labels that are none."""
_MOST_LABELS = 64


class Shipped(NamedTuple):
    """What is known of a recording beside its contents. ``start`` and ``end`` in ns since 1970, None if unknown;
    ``sha256`` is empty or hexadecimal."""

    labels: dict[str, str]
    start: int | None = None
    end: int | None = None
    sha256: str = ""


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
    """The labels in the JSON beside a recording. Raises UnreadableInput if they are damaged."""
    try:
        document = json.loads(text) if len(text) <= _MOST_JSON else None
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        # Labels are beside the other properties, or within "labels".
        within = document.get("labels")
        given = {**{key: value for key, value in document.items() if isinstance(value, str)}, **(within or {})}
        texts = tuple(f"{key}={value}" for key, value in given.items() if key not in _OWN and value)
        if len(texts) > _MOST_LABELS:
            raise ValueError(f"it has more than {_MOST_LABELS} labels")
        sha256 = str(document.get("sha256", ""))
        if sha256 and not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise ValueError("its sha256 is none")
        return Shipped(parsed_labels(texts), _moment(document.get("start")), _moment(document.get("end")), sha256)
    except (ValueError, TypeError, RecursionError, UsageError) as error:
        raise UnreadableInput(f"cannot read {path}", f"the labels are damaged: {error}") from None


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


class Where(NamedTuple):
    """The container and Kubernetes pod of a control group; empty for none."""

    container: str
    pod: str


def of_cgroup(path: str) -> Where:
    """The container and pod that the path of a control group names, as container engines and the kubelet write it."""
    containers = [found["id"] for found in _CONTAINER.finditer(path)]
    pods = [found["id"].replace("_", "-") for found in _POD.finditer(path)]
    return Where(containers[-1] if containers else "", pods[-1] if pods else "")


def of_cgroups(paths: Mapping[int, str]) -> dict[int, Where]:
    """As :func:`of_cgroup`, by the id of the control group."""
    return {number: of_cgroup(path) for number, path in paths.items()}
