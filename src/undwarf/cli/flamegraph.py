"""``undwarf flamegraph``"""

import sys
from typing import Literal

import click

from undwarf.cli.common import BY, SKID, Job, recording_command
from undwarf.errors import UsageError


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
    """Write a flame graph as one self-contained HTML page: that of undwarf view, without data types.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    from undwarf.cli.page_file import page_parts, write_page

    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the page", "give -o FILE")
    parts = page_parts(job, job.grouped(by, skid, lines=True, by_time=True), title)
    if weight == "samples":
        parts.start = "weight=samples"
    write_page(parts.for_file(types=False), output)
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_flamegraph

        page = parts.page
        write_flamegraph(WrittenFile(job.source.path, output), page.part.values, page.quality, sys.stdout)
