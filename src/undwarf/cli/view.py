"""``undwarf view``"""

import contextlib
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import FRAME_OPTIONS, OPTIONS, SKID, Job, input_format_option, notify, take_shared
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

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
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to serve on. Default: one that is free.",
)
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
    from undwarf.serve.page_parts import PageParts

    if skid:
        job.need_recording("--skid")
    if job.is_recording:
        job.recording.with_switches = True
    profile = job.profile(lines=True, by_time=True)
    return PageParts(
        job.source,
        profile,
        title or Path(job.source.path).name,
        served=served,
        symfs=job.symfs,
        skid=skid,
        # A server's threads must not fork.
        touch=None if served else lambda profile: job.touch(profile, skid=skid),
    )


def _serve(pages: "list[tuple[str, PageParts]]", port: int, opens: bool) -> None:
    """Serve until the command is interrupted."""
    from undwarf.serve.server import PageServer
    from undwarf.serve.site import Recordings

    # Before anybody waits for it.
    for _title, parts in pages:
        parts.part("profile")
    try:
        server = PageServer(Recordings(pages), port)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used", error.strerror or str(error), "give another --port") from error
    with server:
        click.echo(server.address)
        sys.stdout.flush()
        notify("note", "only this machine can open it; Ctrl-C ends it")
        if opens:
            _open(server.address_for_once())
        # The main thread, which alone is interrupted, only waits.
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        with contextlib.suppress(KeyboardInterrupt):
            while serving.is_alive():
                serving.join(60)
        server.shutdown()


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        notify("warning", "no browser could be started: open the address in one")


def _write(job: Job, parts: "PageParts", output: str, types: bool | None, opens: bool, as_json: bool) -> None:
    """Write the page to one file."""
    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.page.html import write

    with_types = parts.wants_types if types is None else types
    data = parts.for_file(types=with_types)
    if output == "-":
        write(data, sys.stdout.buffer)
        return
    target = Path(output)
    try:
        with whole_file(target) as sink:
            write(data, sink)
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    size = target.stat().st_size / 1024
    click.echo(f"wrote {printable(output)} ({size:,.0f} KiB): open it in a browser", err=True)
    if opens:
        _open(target.resolve().as_uri())
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_view

        page = parts.page
        write_view(WrittenFile(job.source.path, output), page.part.values, page.quality, sorted(data), sys.stdout)
