"""Table functions of SQL queries over recordings."""

from typing import NamedTuple


class Macro(NamedTuple):
    """A table function: its parameters, what it gives, the tables it reads, and its query."""

    name: str
    parameters: str
    meaning: str
    tables: tuple[str, ...]
    query: str


MACROS = (
    Macro(
        "top",
        "",
        "Functions by falling weight, for each event: `self` of samples taken in them, `total` with those taken in "
        "what they call, in the event's unit and as percentages.",
        ("samples", "stack_weights"),
        """
        SELECT event, name, dso, weight.self, weight.total,
            round(100.0 * weight.self / nullif(whole.period, 0), 2) AS self_percent,
            round(100.0 * weight.total / nullif(whole.period, 0), 2) AS total_percent, recording
        FROM (
            SELECT event, name, dso, recording, sum(self)::UBIGINT AS self,
                coalesce(sum(total) FILTER (NOT recursive), 0)::UBIGINT AS total
            FROM stack_weights GROUP BY ALL
        ) weight
        JOIN (SELECT event, recording, sum(period) AS period FROM samples GROUP BY ALL) whole USING (event, recording)
        ORDER BY recording, event, weight.total DESC, weight.self DESC, name, dso
        """,
    ),
    Macro(
        "callers",
        "function",
        "What calls a function (by name), by falling weight; a null name is no caller, as at a root. Of a recursive "
        "function, what calls it first.",
        ("stack_weights", "stacks"),
        """
        SELECT weight.event, caller.name, caller.dso, sum(weight.total)::UBIGINT AS weight,
            sum(weight.total_samples)::UBIGINT AS samples, weight.recording
        FROM stack_weights weight
        JOIN stacks node ON node.id = weight.stack
        LEFT JOIN stacks caller ON caller.id = node.parent
        WHERE weight.name = function AND NOT weight.recursive
        GROUP BY ALL
        ORDER BY recording, weight.event, weight DESC, caller.name
        """,
    ),
    Macro(
        "flame",
        "",
        "Folded stacks, as flame-graph tools take them: `line` is thread name and frames, root first, with `;` "
        "between; `weight` in the event's unit.",
        ("samples", "stack_frames", "frames"),
        """
        SELECT event, concat_ws(';', replace(comm, ';', ':'), text) AS line, sum(period)::UBIGINT AS weight,
            count(*) AS samples, recording
        FROM samples
        LEFT JOIN (
            SELECT stack, string_agg(replace(frames.name, ';', ':'), ';' ORDER BY depth DESC) AS text
            FROM stack_frames JOIN frames ON frames.id = stack_frames.frame
            GROUP BY stack
        ) folded USING (stack)
        GROUP BY ALL
        ORDER BY recording, event, weight DESC, line
        """,
    ),
    Macro(
        "frames_of",
        "node",
        "The frames of a stack of the samples (`samples.stack`), innermost first.",
        ("stack_frames", "frames"),
        """
        SELECT depth, name, dso, address, file, line, frames.recording
        FROM stack_frames JOIN frames ON frames.id = stack_frames.frame
        WHERE stack_frames.stack = node
        ORDER BY depth
        """,
    ),
)
