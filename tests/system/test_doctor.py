"""What the machine offers."""

import pytest

from undwarf.system import doctor


def test_every_kernel_is_known() -> None:
    assert {"perfdata.decoder", "unwind.walker", "profile.grouping", "outputs.kernels.script_text"} <= set(
        doctor.kernels()
    )


def test_code_that_is_not_compiled_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "kernels", lambda: ["errors"])
    found = next(finding for finding in doctor.examine() if finding.what == "compiled code")
    assert (found.state, found.advice) == ("bad", "make build, or pip install .")


def test_a_missing_library_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIBRARIES", ("no_such_library",))
    assert next(finding for finding in doctor.examine() if finding.what == "libraries").state == "bad"


@pytest.mark.parametrize(
    ("level", "root", "state"), [("2", True, "good"), ("-1", False, "good"), ("2", False, "note"), ("", False, "bad")]
)
def test_whether_perf_events_may_be_used(monkeypatch: pytest.MonkeyPatch, level: str, root: bool, state: str) -> None:
    monkeypatch.setattr(doctor, "_read", lambda _path: level)  # private: the level is this machine's else
    monkeypatch.setattr("os.geteuid", lambda: 0 if root else 1000)
    assert next(finding for finding in doctor.examine() if finding.what == "perf events").state == state


def test_what_is_not_good_comes_with_a_fact() -> None:
    assert all(finding.fact for finding in doctor.examine())
