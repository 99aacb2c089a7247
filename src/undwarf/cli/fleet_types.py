"""``undwarf fleet types``"""

import sys
from typing import TYPE_CHECKING, NamedTuple

from undwarf.cli.common import terminal_width

if TYPE_CHECKING:
    from undwarf.fleet.database import Database
    from undwarf.fleet.stored_profile import Stored
    from undwarf.views.sample_selection import Weight


class TypesQuestion(NamedTuple):
    """What is asked, and how the answer is shown."""

    store: str
    code: bool
    skid: bool
    percent_limit: float
    rows: int
    weight: "Weight"
    as_json: bool


def write(database: "Database", stored: "Stored", asked: TypesQuestion) -> None:
    """Write the types that the samples of a store's profile access."""
    from undwarf.fleet.stored_accesses import stored_accesses
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.outputs.types.columns import TypesOptions
    from undwarf.views.data.layout import spread
    from undwarf.views.data.types import data_types
    from undwarf.views.report import unit_of_weights
    from undwarf.views.sample_selection import sections

    touched = stored_accesses(database, stored, skid=asked.skid)
    profile = touched.profile
    events = [
        (event, name, data_types(profile, touched, asked.weight, event=event, instructions=asked.code))
        for event, name in sections(profile, ())
    ]
    if asked.as_json:
        from undwarf.outputs.types import json_report

        parts = [
            json_report.types_of_event(
                data,
                name if event is not None else None,
                unit_of_weights(profile, event),
                spread(data),
                asked.weight,
                code=asked.code,
            )
            for event, name, data in events
        ]
        json_report.write(asked.store, asked.weight, parts, None, sys.stdout)
        return
    from undwarf.outputs.types import text
    from undwarf.outputs.types.code import write_code

    options = TypesOptions(
        asked.percent_limit,
        asked.rows,
        wants_colour(sys.stdout),
        asked.store,
        asked.skid,
        width=terminal_width(),
        stored=True,
    )
    for number, (event, name, data) in enumerate(events):
        if number:
            sys.stdout.write("\n")
        of_event = options._replace(precise=event in stored.stops.at | stored.stops.after)
        if asked.code:
            write_code(data, name, sys.stdout, of_event)
        else:
            text.write(data, name, spread(data), sys.stdout, of_event)
