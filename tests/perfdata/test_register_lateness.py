"""How late the registers of precise samples are, by machine and kernel."""

import pytest
from tests.support.perfdata.writing import event

from undwarf.perfdata.register_lateness import LATEST, lateness, unmarked_is_late

SKYLAKE, SAPPHIRE_RAPIDS, DIAMOND_RAPIDS = "GenuineIntel,6,94,3", "GenuineIntel,6,143,8", "GenuineIntel,19,1,0"
ZEN = "AuthenticAMD,25,17,1"
PRECISE, PRECISE_1 = 2 << 15, 1 << 15


@pytest.mark.parametrize(
    ("cpuid", "release", "intr", "steps"),
    [
        (SAPPHIRE_RAPIDS, "6.15.0-rc1", 0, 1),
        (SAPPHIRE_RAPIDS, "6.14.9", 0, LATEST),
        (SAPPHIRE_RAPIDS, "5.14.0", 0xFF, 1),
        (DIAMOND_RAPIDS, "7.2.0", 0, 1),
        (SKYLAKE, "6.18.0", 0, LATEST),
        (SKYLAKE, "6.18.0", 0xFF, 1),
        (SKYLAKE, "4.19.0", 0xFF, LATEST),
        (ZEN, "6.18.0", 0, LATEST),
        (ZEN, "6.18.0", 0xFF, LATEST),
        (None, "6.18.0", 0xFF, LATEST),
        (SAPPHIRE_RAPIDS, None, 0, LATEST),
        ("GenuineIntel,6,143", "6.18.0", 0, LATEST),
    ],
)
def test_how_late(cpuid: str | None, release: str | None, intr: int, steps: int) -> None:
    assert lateness(event(flags=PRECISE, sample_regs_intr=intr), cpuid, release) == steps


@pytest.mark.parametrize(
    ("flags", "kind", "cpuid", "release", "late"),
    [
        (PRECISE_1, 4, SKYLAKE, "6.18.0", True),
        (PRECISE_1, 4, SAPPHIRE_RAPIDS, "6.1.0", True),
        (PRECISE_1, 4, SAPPHIRE_RAPIDS, "6.18.0", False),
        (PRECISE_1, 4, None, None, True),
        (PRECISE_1, 4, ZEN, "6.18.0", False),
        (PRECISE, 4, SKYLAKE, "6.18.0", False),
        (PRECISE_1, 1, SKYLAKE, "6.18.0", False),
        (0, 4, SKYLAKE, "6.18.0", False),
    ],
)
def test_which_samples_are_late_without_a_mark(
    flags: int, kind: int, cpuid: str | None, release: str | None, late: bool
) -> None:
    assert unmarked_is_late(event(flags=flags, type=kind), cpuid, release) == late
