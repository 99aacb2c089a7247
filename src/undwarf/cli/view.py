"""``undwarf view``"""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import FRAME_OPTIONS, OPTIONS, SKID, Job, input_format_option, take_shared
from undwarf.cli.serving import OPEN, PORT, open_in_browser, serve
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.serve.page_parts import PageParts


def _with_shared_options(command: Any) -> Any:
    """The command with the options of those that read a recording; the files are its own arguments."""
    for option in reversed((*OPTIONS[1:], *FRAME_OPTIONS, input_format_option("--format"))):
        command = option(command)
    return command


@click.command(
    "view",
    epilog="""\b
Examples:
  undwarf view perf.data --open
  undwarf view perf.data -o page.html              # one file, to attach or send
  undwarf view --types perf.data -o page.html      # with the types that memory accesses touch
  undwarf view before.data after.data --port 8000
  ssh -L 8000:127.0.0.1:8000 host undwarf view --port 8000 perf.data""",
)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(readable=False))
@click.option(
    "-o", "--output", metavar="FILE", default=None, help="Write the page to FILE and end; - for standard output."
)
@OPEN
@PORT
@click.option("--title", metavar="TEXT", default=None, help="Title of the page. Default: the name of the recording.")
@click.option(
    "--types/--no-types",
    "types",
    default=None,
    help="With -o: recover data types for the page, which may take longer than all else. Default: if events stop at "
    "memory accesses, or at most 1,500 instructions were sampled. A served page recovers them when it shows them.",
)
@SKID
@click.option("--json", "as_json", is_flag=True, help="With -o: also print which page was written as JSON.")
@_with_shared_options
def command(
    files: tuple[str, ...],
    output: str | None,
    opens: bool,
    port: int,
    title: str | None,
    types: bool | None,
    skid: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Show recordings in a browser: time line, flame graph, source, data types.

    The page also has tables, assembly, and how many stacks are whole. It is served on 127.0.0.1 until the command is
    interrupted, or written to one file, which needs no server and no network.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    if options["also_file"]:
        files = (options["also_file"], *files)
        options["also_file"] = None
    files = files or ("perf.data",)
    if as_json and output in (None, "-"):
        why = "standard output has the page" if output == "-" else "it describes the file that is written"
        raise UsageError("--json needs -o FILE", why, "give -o FILE")
    if output is not None and len(files) > 1:
        raise UsageError("-o writes the page of one recording", f"these are {len(files)}", "write one after the other")
    if output is not None and opens and output == "-":
        raise UsageError("--open cannot be used with -o -", "standard output has the page", "give -o FILE")
    with contextlib.ExitStack() as stack:
        jobs = [stack.enter_context(Job(take_shared({**options, "file": file}), profiles=True)) for file in files]
        pages = [(title or Path(job.source.path).name, _parts(job, title, skid, served=output is None)) for job in jobs]
        if output is None:
            _serve(pages, port, opens)
        else:
            _write(jobs[0], pages[0][1], output, types, opens, as_json)


def _parts(job: Job, title: str | None, skid: bool, *, served: bool) -> "PageParts":
    """The parts of a recording's page."""
    from undwarf.cli.page_file import page_parts

    if skid:
        job.need_recording("--skid")
    if job.is_recording:
        job.recording.with_switches = True
    return page_parts(job, job.profile(lines=True, by_time=True), title, skid=skid, served=served)


def _serve(pages: "list[tuple[str, PageParts]]", port: int, opens: bool) -> None:
    """Serve until the command is interrupted."""
    from undwarf.serve.site import Recordings

    # Before anybody waits for it.
    for _title, parts in pages:
        parts.part("profile")
    serve(Recordings(pages), port, opens)


def _write(job: Job, parts: "PageParts", output: str, types: bool | None, opens: bool, as_json: bool) -> None:
    """Write the page to one file."""
    from undwarf.cli.page_file import write_page

    data = parts.for_file(types=parts.wants_types if types is None else types)
    write_page(data, output)
    if opens:
        open_in_browser(Path(output).resolve().as_uri())
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_view

        page = parts.page
        write_view(WrittenFile(job.source.path, output), page.part.values, page.quality, sorted(data), sys.stdout)
