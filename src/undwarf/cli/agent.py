"""``undwarf agent``"""

import click

from undwarf.outputs.terminal.escape import printable


@click.command(
    "agent",
    epilog="""\b
Examples:
  undwarf agent --config /etc/undwarf/agent.toml --check     is all there that it needs?
  undwarf agent --config /etc/undwarf/agent.toml

SIGTERM ends it, with its last recording written; SIGHUP makes it read its configuration again.""",
)
@click.option("--config", "path", metavar="FILE", required=True, help="The configuration, in TOML.")
@click.option("--check", "only_check", is_flag=True, help="Check the configuration and the permissions, and exit.")
def command(path: str, only_check: bool) -> int:
    """Record this machine all the time: whole stacks in small files, shipped to a store."""
    from undwarf import __version__
    from undwarf.agent.run import Agent, check
    from undwarf.cli.agent_configuration import read_settings

    settings = read_settings(path)
    if only_check:
        for line in check(settings):
            click.echo(printable(line))
        return 0

    def say(text: str) -> None:
        click.echo(f"undwarf agent: {printable(text)}", err=True)

    Agent(settings, lambda: read_settings(path), __version__, say).run()
    return 0
