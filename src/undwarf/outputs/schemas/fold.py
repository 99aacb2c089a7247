"""What ``undwarf fold --json`` prints: a line for each distinct stack."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import COMM, EVENT, UNIT, Count


class Fold(TypedDict):
    """One distinct stack of threads with one name (with --root pid or tid: of one process or thread)."""

    schema: Annotated[Literal["undwarf/fold"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    event: Annotated[str | None, EVENT + " Null if samples of several events are counted."]
    unit: Annotated[str | None, UNIT]
    comm: Annotated[str | None, COMM + " Also with --root none."]
    pid: Annotated[int | None, "Process id; null without --root pid or tid."]
    tid: Annotated[int | None, "Thread id; null without --root tid."]
    stack: Annotated[
        list[str],
        "Names of the functions, outermost first; [FILE] for a function without a name. With --by type, the type and"
        " the member come first.",
    ]
    weight: Annotated[Count, "Weight of the samples with this stack, in the unit."]
