"""Stop reasons as values."""

import pytest

from undwarf.unwind.stop_reason import StopReason


def test_a_number_without_a_name_stays_a_reason() -> None:
    reason = StopReason(30)
    assert (isinstance(reason, StopReason), reason, reason.name) == (True, 30, "REASON_30")


def test_what_no_recording_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="256"):
        StopReason(256)
