"""What the commands of ``undwarf fleet`` print with ``--json``; ``query``, ``report``, ``types`` and ``flamegraph``
print what the commands of these names do, with the address of the store as the recording."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import BuildId, Count

_STORE = "Address of the store, as given."
_LOOKED_AT = "Instructions of innermost frames that were looked at for types, once for all recordings."
_DESCRIBED = "Of these, those whose file has debugging information."
_DAMAGE = "Files whose debugging information is damaged, or not there in part."


class FleetRecording(TypedDict):
    """A recording that was given to the store."""

    recording: Annotated[str, "Its path; of one that an agent has shipped, its path in the store."]
    state: Annotated[
        Literal["taken", "known", "refused"],
        'Whether it is in the store now ("taken"), was before ("known"), or cannot be read ("refused").',
    ]
    samples: Annotated[Count | None, "Its samples; null unless it was taken."]
    size_bytes: Annotated[Count, "Its size in bytes."]
    problem: Annotated[str | None, "Why it was refused."]


class FleetIngest(TypedDict):
    """What became of recordings."""

    schema: Annotated[Literal["undwarf/fleet-ingest"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    store: Annotated[str, _STORE]
    recordings: Annotated[list[FleetRecording], "The recordings, by path."]
    frames_named: Annotated[Count, "Frames of files that got names, once for all recordings."]
    not_named: Annotated[list["FleetProblem"], "Files whose frames have no names yet."]
    instructions_looked_at: Annotated[Count, _LOOKED_AT]
    instructions_described: Annotated[Count, _DESCRIBED]
    types_not_complete: Annotated[list["FleetProblem"], _DAMAGE]


class FleetProblem(TypedDict):
    """What is wrong with a file."""

    dso: Annotated[str, "Path of the file, as recorded."]
    problem: Annotated[str, "Why."]


class FleetCompact(TypedDict):
    """What became of the store's files."""

    schema: Annotated[Literal["undwarf/fleet-compact"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    store: Annotated[str, _STORE]
    files_before: Annotated[Count, "Files of the tables before."]
    files: Annotated[Count, "Files of the tables now."]
    size_bytes_before: Annotated[Count, "Their size in bytes before."]
    size_bytes: Annotated[Count, "Their size in bytes now."]
    removed: Annotated[
        Count, "Files that were removed: those that were replaced long enough ago, and those of killed runs."
    ]
    days_dropped: Annotated[list[str], 'Days that were dropped, as "2026-11-28".']


class FleetSymbolsAdd(TypedDict):
    """Names that were added."""

    schema: Annotated[Literal["undwarf/fleet-symbols-add"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    store: Annotated[str, _STORE]
    frames_named: Annotated[Count, "Frames that got names."]
    not_named: Annotated[list[FleetProblem], "Files whose frames have no names yet."]
    instructions_looked_at: Annotated[Count, _LOOKED_AT]
    instructions_described: Annotated[Count, _DESCRIBED]
    types_not_complete: Annotated[list[FleetProblem], _DAMAGE]


class FleetMissingImage(TypedDict):
    """A file of which frames have no names."""

    dso: Annotated[str, "Path of the file, as recorded."]
    build_id: Annotated[BuildId, "Its build-id."]
    frames: Annotated[Count, "Frames without a name."]


class FleetSymbolsMissing(TypedDict):
    """Files of which frames have no names."""

    schema: Annotated[Literal["undwarf/fleet-symbols-missing"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    store: Annotated[str, _STORE]
    images: Annotated[list[FleetMissingImage], "The files, most frames first."]
