"""What this machine offers, as JSON."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import known

if TYPE_CHECKING:
    from undwarf.outputs.schemas.doctor import Doctor
    from undwarf.system.doctor import Finding


def write_json(findings: "Iterable[Finding]", sink: TextIO) -> None:
    """Write one JSON object."""
    document: Doctor = {
        "schema": "undwarf/doctor",
        "version": 1,
        "findings": [
            {"check": one.what, "state": one.state, "fact": one.fact, "advice": known(one.advice)} for one in findings
        ],
    }
    dump(document, sink)
