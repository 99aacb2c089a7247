"""``undwarf completion``"""

import click
from click.shell_completion import get_completion_class


@click.command(
    "completion",
    epilog="""\b
Examples:
  undwarf completion bash > ~/.local/share/bash-completion/completions/undwarf
  undwarf completion fish > ~/.config/fish/completions/undwarf.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    root = context.find_root().command
    click.echo(shell_class(root, {}, "undwarf", "_UNDWARF_COMPLETE").source())
