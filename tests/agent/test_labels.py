"""Labels from control groups: the paths are those of real container run times."""

from pathlib import Path

import pytest

from undwarf.agent.labels import of_cgroup, of_host, pods_in

ID = "f3a1" * 16
UID = "0f2b6c1e-8d43-4f6e-9a51-0c7de1a2b3c4"
STATIC, TASK = "0f2b6c1e8d434f6e9a510c7de1a2b3c4", "34dc0b5e626f2c5c4c5170e34b10e765"
SYSTEMD_POD = f"pod{UID.replace('-', '_')}.slice"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-{SYSTEMD_POD}/cri-containerd-{ID}.scope",
         {"container": ID, "pod_uid": UID}),
        (f"/kubepods/besteffort/pod{UID}/{ID}", {"container": ID, "pod_uid": UID}),
        (f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-{SYSTEMD_POD}/crio-{ID}.scope/container",
         {"container": ID, "pod_uid": UID}),
        (f"/system.slice/containerd.service/kubepods-burstable-{SYSTEMD_POD}:cri-containerd:{ID}",
         {"container": ID, "pod_uid": UID}),
        (f"/kubepods.slice/kubepods-{SYSTEMD_POD}/crio-{ID}.scope", {"container": ID, "pod_uid": UID}),
        (f"/kubepods.slice/kubepods-{SYSTEMD_POD}/docker-{ID}.scope", {"container": ID, "pod_uid": UID}),
        (f"/kubepods/burstable/pod{UID}/crio-{ID}", {"container": ID, "pod_uid": UID}),
        (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC}.slice/cri-containerd-{ID}.scope",
         {"container": ID, "pod_uid": STATIC}),
        (f"/../../kubepods.slice/kubepods-{SYSTEMD_POD}/cri-containerd-{ID}.scope", {"container": ID, "pod_uid": UID}),
        (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-{SYSTEMD_POD}", {"pod_uid": UID}),
        (f"/docker/{'9' * 64}/kubelet/kubepods/besteffort/pod{UID}/{ID}", {"container": ID, "pod_uid": UID}),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container", {"container": ID}),
        (f"/ecs/{TASK}/{ID}", {"container": ID}),
        (f"/ecs/{TASK}/{TASK}-2531612879", {"container": f"{TASK}-2531612879"}),
        (f"/system.slice/docker-{ID}.scope", {"container": ID}),
        (f"/docker/{ID}", {"container": ID}),
        (f"/machine.slice/libpod-{ID}.scope/container", {"container": ID}),
        ("/system.slice/nginx.service", {"unit": "nginx.service"}),
        ("/user.slice/user-0.slice/session-1.scope", {}),
        ("/", {}),
    ],
)  # fmt: skip  # a table
def test_a_path_has_container_and_pod(path: str, wanted: dict[str, str]) -> None:
    assert of_cgroup(path, {}) == wanted


def test_the_kubelets_logs_name_a_pod(tmp_path: Path) -> None:
    (tmp_path / f"shop_cart-7c9f_{UID}").mkdir()
    (tmp_path / "other").mkdir()
    found = of_cgroup(f"/kubepods/pod{UID}/{ID}", pods_in(tmp_path))
    assert (found["namespace"], found["pod"]) == ("shop", "cart-7c9f")


def test_a_machine_without_pods_has_none(tmp_path: Path) -> None:
    assert pods_in(tmp_path / "none") == {}


def test_a_given_host_counts_first() -> None:
    assert of_host({"host": "a", "service": "b"}) == {"host": "a", "service": "b"}
    assert of_host({})["host"]
