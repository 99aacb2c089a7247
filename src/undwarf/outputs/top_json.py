"""An update of ``top`` as a line of JSON."""

import time
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from undwarf.outputs.json_lines import line_of
from undwarf.outputs.json_values import known
from undwarf.outputs.report_json import keys_of

if TYPE_CHECKING:
    from undwarf.outputs.schemas.top import Top, TopRow
    from undwarf.views.flat_profile import FlatProfile


class TopTable(NamedTuple):
    """The table of an event; ``weight`` is that of the table's samples, ``idle_share`` what idle CPUs have besides."""

    event: str
    unit: str
    samples: int
    flat: "FlatProfile"
    idle_share: float


class TopUpdate(NamedTuple):
    """What was sampled in ``seconds``; ``lost`` since the start."""

    seconds: float
    samples: int
    lost: int
    sort: tuple[str, ...]
    tables: list[TopTable]


def write(update: TopUpdate, sink: BinaryIO) -> None:
    """Write one line, and flush it."""
    document: Top = {
        "schema": "undwarf/top",
        "version": 1,
        "time_s": round(time.time(), 3),
        "duration_ns": round(update.seconds * 1e9),
        "sort": list(update.sort),
        "samples": update.samples,
        "lost": update.lost,
        "events": [
            {
                "event": table.event,
                "unit": known(table.unit),
                "weight": table.flat.total,
                "samples": table.samples,
                "idle_share": table.idle_share,
                "rows": [
                    cast(
                        "TopRow",
                        {**keys_of(table.flat, row), "self": row.self_weight, "total": row.children_weight},
                    )
                    for row in table.flat.rows
                ],
            }
            for table in update.tables
        ],
    }
    sink.write(line_of(document))
    sink.flush()
