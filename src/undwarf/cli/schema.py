"""``undwarf schema``"""

import sys

import click

from undwarf.errors import UsageError


@click.command(
    "schema",
    epilog="""\b
Examples:
  undwarf schema                            # the documents that there are
  undwarf schema report > report.schema.json
  undwarf schema tables dump""",
)
@click.argument("command", nargs=-1, metavar="[COMMAND]...")
def command(command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what a command prints with --json.

    Of commands that print lines of JSON (script, fold, top, addr2line), it is that of one line.
    """
    from undwarf.outputs.schemas import DOCUMENTS, published

    if not command:
        click.echo("\n".join(DOCUMENTS))
        return
    name = "-".join(command)
    if name not in DOCUMENTS:
        raise UsageError(f"no JSON document {name!r}", "", f"documents are {', '.join(DOCUMENTS)}")
    sys.stdout.write(published(name))
