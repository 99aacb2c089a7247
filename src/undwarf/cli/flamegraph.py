"""``undwarf flamegraph``"""

import sys
from pathlib import Path
from typing import Literal

import click

from undwarf.cli.common import BY, SKID, Job, recording_command
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable


@recording_command(
    "flamegraph",
    by_frame=True,
    profiles=True,
    epilog="""\b
Examples:
  undwarf flamegraph perf.data -o flames.html
  undwarf flamegraph --by type --skid perf.data -o data.html
  undwarf flamegraph --comm 'cc1*' --event cycles perf.data -o compile.html""",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="flamegraph.html",
    show_default=True,
    help="The HTML file to write; - for standard output.",
)
@click.option("--title", metavar="TEXT", default=None, help="Title of the page. Default: the name of the recording.")
@click.option(
    "--weight",
    type=click.Choice(["period", "samples"]),
    default="period",
    show_default=True,
    help="Initial width of boxes: periods (time, cycles ...) or number of samples.",
)
@BY
@SKID
@click.option("--json", "as_json", is_flag=True, help="Also print which page was written as JSON.")
def command(
    job: Job, output: str, title: str | None, weight: Literal["period", "samples"], by: str, skid: bool, as_json: bool
) -> None:
    """Write a flame graph as one self-contained HTML page.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.flamegraph import FlamegraphOptions, write
    from undwarf.views.flame_graph import flame_graph

    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the page", "give -o FILE")
    profile = job.grouped(by, skid)
    graph = flame_graph(profile, job.stack_dump)
    options = FlamegraphOptions(title=title or Path(job.source.path).name, weight=weight)
    if output == "-":
        write(graph, sys.stdout.buffer, options)
        return
    target = Path(output)
    try:
        with whole_file(target) as sink:
            write(graph, sink, options)
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    size = target.stat().st_size / 1024
    click.echo(f"wrote {printable(output)} ({size:,.0f} KiB): open it in a browser", err=True)
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_flamegraph
        from undwarf.views.report import unit_of_weights

        units = [unit_of_weights(profile, measure.events) for measure in graph.graphs]
        write_flamegraph(WrittenFile(job.source.path, output), graph, units, sys.stdout)
