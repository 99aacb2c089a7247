"""What ``undwarf doctor --json`` prints."""

from typing import Annotated, Literal, TypedDict


class Finding(TypedDict):
    """The result of one check."""

    check: Annotated[str, "What was checked."]
    state: Annotated[Literal["good", "note", "bad"], '"note": it works, with limits.']
    fact: Annotated[str, "What was found."]
    advice: Annotated[str | None, "What to do; null if nothing needs to be done."]


class Doctor(TypedDict):
    """What this machine offers for recording and reading profiles."""

    schema: Annotated[Literal["undwarf/doctor"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    findings: Annotated[list[Finding], "One for each check, most basic first."]
