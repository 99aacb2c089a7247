"""``undwarf report``"""

import os
import sys

import click

from undwarf.cli.common import Job, recording_command
from undwarf.outputs.report import ReportOptions, terminal_width, write
from undwarf.views.hot import parse_keys


def wants_colour() -> bool:
    """Colours only on a terminal, and never against NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@recording_command(
    "report",
    epilog="""\b
Examples:
  undwarf report perf.data
  undwarf report --sort dso,sym --no-children perf.data
  undwarf report -g caller --percent-limit 2 --comm cc1plus perf.data
  undwarf report --json perf.data | jq '.rows[:5]'""",
)
@click.option("-s", "--sort", default="comm,dso,sym", show_default=True, metavar="KEYS", help="What makes a row.")
@click.option("--children/--no-children", default=True, help="Count callees' time for their callers, or own time only.")
@click.option("-g", "--call-graph", "graph", type=click.Choice(["none", "caller", "callee"]), default="none", help="Show a tree.")
@click.option("--percent-limit", type=click.FloatRange(0, 100), default=0.5, show_default=True, help="Hide what is below.")
@click.option("--json", "as_json", is_flag=True, help="Numbers for machines.")
def command(job: Job, sort: str, children: bool, graph: str, percent_limit: float, as_json: bool) -> None:
    """Hot functions and call tree in the terminal."""
    keys = parse_keys(sort)
    profile = job.profile()
    recording = job.recording
    options = ReportOptions(
        keys=keys,
        children=children,
        graph=graph,
        percent_limit=percent_limit,
        colour=wants_colour(),
        width=terminal_width() if sys.stdout.isatty() else None,
        json=as_json,
        dump=max((event.sample_stack_user for event in recording.events), default=0),
        lost=recording.records.lost,
        path=recording.path,
    )
    write(profile, sys.stdout, options)
