"""What commands that serve a page on this machine share."""

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

import click

from undwarf.cli.common import notify
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.serve.server import Site

OPEN = click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
PORT = click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to serve on. Default: one that is free.",
)


def serve(site: "Site", port: int, opens: bool) -> None:
    """Serve a site on loopback until the command is interrupted. ``opens``: open it in a browser."""
    from undwarf.serve.server import PageServer

    try:
        server = PageServer(site, port)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used", error.strerror or str(error), "give another --port") from error
    with server:
        click.echo(server.address)
        sys.stdout.flush()
        notify("note", "only this machine can open it; Ctrl-C ends it")
        if opens:
            open_in_browser(server.address_for_once())
        # The main thread, which alone is interrupted, only waits.
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        with contextlib.suppress(KeyboardInterrupt):
            while serving.is_alive():
                serving.join(60)
        server.shutdown()


def open_in_browser(address: str) -> None:
    """Open an address in the user's browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(address):
        notify("warning", "no browser could be started: open the address in one")
