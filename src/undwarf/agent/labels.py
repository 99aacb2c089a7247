"""Labels: of the host, and of a container and a Kubernetes pod from the path of a control group.

The paths are those that container run times and the kubelet give to control groups, with the systemd driver
(``kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope``, ``docker-<id>.scope``, ``libpod-<id>.scope``) and with
the cgroupfs driver (``kubepods/burstable/pod<uid>/<id>``, ``docker/<id>``); systemd writes the dashes of a uid as
underscores. A containerd that does not know of systemd makes ``kubepods-burstable-pod<uid>.slice:cri-containerd:<id>``
of what the kubelet gives it. The uid of a static pod is a digest without dashes. ECS has ``ecs/<task>/<id>``, and on
Fargate ``ecs/<task>/<task>-<number>``.
"""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

_CONTAINER = re.compile(r"(?:^|[-/:])([0-9a-f]{64}|[0-9a-f]{32}(?:-\d{9,10})?)(?:\.scope)?(?=/|$)")
_POD = re.compile(
    r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?[/:]"
)
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")
_POD_LOG = re.compile(r"([^_]+)_([^_]+)_([0-9a-f-]{32,36})\Z")
MOST_PODS = 4096
"""Entries of the kubelet's folder that are read."""


def of_host(given: Mapping[str, str]) -> dict[str, str]:
    """The labels of all recordings: the host's name, and the given ones, which count first."""
    return {"host": socket.gethostname(), **given}


def of_cgroup(path: str, pods: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """What the path of a control group says: any of ``container``, ``pod_uid``, ``unit``; and of a pod in ``pods`` (by
    uid: namespace and name) also ``namespace`` and ``pod``."""
    labels = {}
    if pod := _POD.search(path + "/"):
        uid = pod[1].replace("_", "-")
        labels["pod_uid"] = uid
        if uid in pods:
            labels["namespace"], labels["pod"] = pods[uid]
    if containers := _CONTAINER.findall(path):
        labels["container"] = containers[-1]
    elif unit := _UNIT.findall(path):
        labels["unit"] = unit[-1]
    return labels


def pods_in(folder: Path) -> dict[str, tuple[str, str]]:
    """The pods of this machine by uid: (namespace, name), from the names of the kubelet's folders of logs."""
    found = {}
    try:
        with os.scandir(folder) as entries:
            for _number, entry in zip(range(MOST_PODS), entries, strict=False):
                if parts := _POD_LOG.match(entry.name):
                    found[parts[3]] = (parts[1], parts[2])
    except OSError:
        # Not a node of Kubernetes, or not readable.
        return found
    return found
