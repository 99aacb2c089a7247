"""What `undwarf stack` shows."""

from click.testing import CliRunner
from tests.support.documents import document

from undwarf.cli.main import undwarf


def shown(target: object, *options: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(undwarf, ["stack", "--json", *options, str(target)], catch_exceptions=False)
    threads: list[dict[str, object]] = document(done.stdout)["threads"]
    return threads


def functions(thread: dict[str, object]) -> list[str]:
    return [frame["sym"] for frame in thread["frames"]]  # type: ignore[attr-defined]


def rests_in_main(found: list[dict[str, object]]) -> bool:
    """Whether a sleeper's functions are there, whatever of the C library it is in."""
    frames = found[0]["frames"]
    assert isinstance(frames, list)
    own = [frame["sym"] for frame in frames if "libc" not in frame["dso"]]
    return own[:2] == ["rests", "main"]
