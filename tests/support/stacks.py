"""What `undwarf stack` shows."""

from click.testing import CliRunner
from tests.support.documents import document

from undwarf.cli.main import undwarf
from undwarf.outputs.schemas.stack import Thread


def shown(target: object, *options: str) -> list[Thread]:
    done = CliRunner().invoke(undwarf, ["stack", "--json", *options, str(target)], catch_exceptions=False)
    threads: list[Thread] = document(done.stdout)["threads"]
    return threads


def functions(thread: Thread) -> list[str | None]:
    return [frame["sym"] for frame in thread["frames"]]


def rests_in_main(found: list[Thread]) -> bool:
    """Whether a sleeper's functions are there, whatever of the C library it is in."""
    own = [frame["sym"] for frame in found[0]["frames"] if "libc" not in (frame["dso"] or "")]
    return own[:2] == ["rests", "main"]
