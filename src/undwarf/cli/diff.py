"""``undwarf diff``"""

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from undwarf.cli.common import (
    COMPARED_CHILDREN,
    FRAME_OPTIONS,
    OPTIONS,
    ROWS,
    SKID,
    TESTED_LIMIT,
    Job,
    is_given,
    notify,
    take_shared,
    terminal_width,
)
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.views.comparison.conditions import Condition, Verdict
    from undwarf.views.comparison.model import By, Comparison, Normalization, Recorded
    from undwarf.views.sample_selection import Weight

_AGAINST = "\x1f--\x1f"
"""Stands for ``--`` between the sides, which click would drop."""
_ALIASES = {"sym": "function", "dso": "image", "srcline": "line", "typeoff": "field", "comm": "thread"}
"""Names of report's sort keys for the same rows."""
HOLDS = 4
"""The exit code if a condition of ``--fail-if`` holds."""
FAIL_IF = click.option(
    "--fail-if",
    "fail_if",
    metavar="CONDITION",
    multiple=True,
    help="Exit with 4 if this holds beyond chance: 'total > +2%', 'function:NAME > +5%', 'image:libz* > +1pp' (points "
    "of the share), 'whole < -2pp' (whole stacks).",
)


class _Sides(click.Command):
    """A command with ``--`` between its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; options may stand after ``--`` too."""
        return super().parse_args(ctx, [_AGAINST if word == "--" else word for word in args])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The two forms of the arguments."""
        return ["[OPTIONS]", "BEFORE AFTER | BEFORE... -- AFTER..."]


def _with_shared_options(command: Any) -> Any:
    """The command with the options of those that read a recording; the files are its own arguments."""
    for option in reversed((*OPTIONS[2:], *FRAME_OPTIONS)):
        command = option(command)
    return command


def _by(_context: click.Context, _parameter: click.Parameter, value: str) -> "tuple[By, ...]":
    from undwarf.views.comparison.model import By

    kinds: list[By] = []
    for part in value.split(","):
        name = _ALIASES.get(part.strip(), part.strip())
        if not name:
            continue
        kind: By | None = next((one for one in get_args(By) if one == name), None)
        if kind is None:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(get_args(By))}")
        if kind not in kinds:
            kinds.append(kind)
    return tuple(kinds) or ("function",)


@click.command(
    "diff",
    cls=_Sides,
    epilog="""\b
Examples:
  undwarf diff old.data new.data
  undwarf diff old-*.data -- new-*.data             # several runs a side: how much runs differ
  undwarf diff --by image,function,path old.data new.data
  undwarf diff old-*.data -- new-*.data -o page.html    # to look at: both flame graphs, code
  undwarf diff --normalize 5000,5200 old.data new.data   # per request
  undwarf diff --normalize event:instructions old.data new.data
  undwarf diff --markdown --fail-if 'function:parse_line > +5%' old-*.data -- new-*.data
  undwarf diff --json old.data new.data | jq '.events[].tables[].rows[] | select(.significant).name'""",
)
@click.argument("words", nargs=-1, metavar="BEFORE... AFTER...", type=click.Path(readable=False))
@click.option(
    "--by",
    "kinds",
    metavar="KINDS",
    default="function",
    show_default=True,
    callback=_by,
    help="What makes a row: function, path (of calls), line, image, type, field (member of a type), thread.",
)
@click.option(
    "--normalize",
    metavar="UNIT",
    default="run",
    show_default=True,
    help="The unit of work: run (one recording), samples (compare shares), time (a second), event:NAME (what another "
    "event of the recordings counts), or the work done as NUMBER, BEFORE,AFTER or one number a recording.",
)
@COMPARED_CHILDREN
@TESTED_LIMIT
@ROWS
@click.option("--weight", type=click.Choice(["period", "samples"]), default="period", help="What the numbers count.")
@FAIL_IF
@SKID
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all rows with intervals and p-values.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=None,
    help="Write a page to look at: flame graph of both sides, tables, code. Prints tables only with --json or "
    "--markdown, and compares functions, call paths, files and lines if --by is not given.",
)
@click.option("--open", "opens", is_flag=True, help="With -o: open the page in a browser.")
@_with_shared_options
def command(
    words: tuple[str, ...],
    kinds: "tuple[By, ...]",
    normalize: str,
    children: bool,
    percent_limit: float,
    rows: int | None,
    weight: "Weight",
    fail_if: tuple[str, ...],
    skid: bool,
    as_json: bool,
    markdown: bool,
    output: str | None,
    opens: bool,
    **options: Any,
) -> int:
    """Compare recordings: what changed, by how much, and whether chance explains it.

    BEFORE and AFTER are recordings (perf.data), or profiles of another tool. With several on a side, -- stands between
    the sides; differences between runs then say what chance does. With one on each side, differences within the
    recording do, and whether the whole became slower is not tested.
    """
    from undwarf.views.comparison.compare import compare
    from undwarf.views.comparison.conditions import evaluate, parse

    if opens and output is None:
        raise UsageError("--open needs a page", "", "give -o FILE")
    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other", "", "give one of them")
    before, after = _sides(words)
    all_of_page = output is not None and not is_given("kinds")
    if all_of_page:
        kinds = ("function", "path", "image", "line")
    conditions = [parse(text) for text in fail_if]
    _check(conditions, before, after, normalize)
    kinds = with_conditions(kinds, conditions)
    if skid and not {"type", "field"}.intersection(kinds):
        raise UsageError("--skid needs data types", "", "add --by type")
    normalization, work = _normalization(normalize, len(before), len(after))
    with contextlib.ExitStack() as stack:
        jobs: list[tuple[Job, ResolvedAccesses | None]] = []
        recorded: list[Recorded] = []
        for path, done in zip((*before, *after), work, strict=True):
            job = Job(take_shared({**options, "file": path, "also_file": None}), profiles=True)
            with contextlib.ExitStack() as reading:
                reading.enter_context(job)
                one, touched = _read(job, path, done, kinds, skid, lines=not all_of_page)
                recorded.append(one)
                if output is not None and len(recorded) in (1, len(before) + 1):
                    # The page shows the code of the first recording of each side.
                    stack.push(reading.pop_all())
                    jobs.append((job, touched))
        if all_of_page and any(one.profile.frames.line is None for one in recorded):
            kinds = tuple(kind for kind in kinds if kind != "line")
        comparison = compare(
            recorded[: len(before)],
            recorded[len(before) :],
            kinds,
            normalization,
            weight=weight,
            children=children,
            least=percent_limit / 100,
            named=named_rows(conditions),
        )
        if output is not None:
            _write_page(comparison, jobs, output, weight, skid=skid, opens=opens)
    verdicts = evaluate(conditions, comparison)
    if as_json:
        from undwarf.outputs.diff_json import write as write_json

        write_json(comparison, verdicts, sys.stdout, percent_limit)
    elif markdown:
        from undwarf.outputs.diff_markdown import write as write_markdown

        write_markdown(comparison, verdicts, sys.stdout)
    elif output is not None:
        from undwarf.outputs.diff import write_summary
        from undwarf.outputs.terminal.style import wants_colour

        write_summary(comparison, verdicts, sys.stdout, colour=wants_colour(sys.stdout))
    else:
        from undwarf.outputs.diff import DiffOptions, write
        from undwarf.outputs.terminal.style import wants_colour

        most = rows if rows is not None else 40 if sys.stdout.isatty() else 0
        shown = DiffOptions(most, percent_limit, wants_colour(sys.stdout), terminal_width())
        write(comparison, verdicts, sys.stdout, shown)
    return exit_code(verdicts)


def _sides(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The recordings of both sides."""
    sides = _split(words)
    for side in sides:
        paths = [os.path.realpath(path) for path in side]
        for path, name in zip(paths, side, strict=True):
            if paths.count(path) > 1:
                raise UsageError(
                    f"{name} is given twice on a side", "it cannot say how much runs differ", "record again"
                )
    return sides


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before and after ``--``."""
    usual = "undwarf diff BEFORE AFTER, or undwarf diff BEFORE... -- AFTER..."
    if words.count(_AGAINST) > 1:
        raise UsageError("there are more than two sides", "-- stands twice", usual)
    if _AGAINST in words:
        at = words.index(_AGAINST)
        before, after = words[:at], words[at + 1 :]
        if not before or not after:
            raise UsageError(f"there is no recording {'after' if before else 'before'} --", "", usual)
        return before, after
    if len(words) != 2:
        why = "with several on a side, -- stands between the sides" if len(words) > 2 else ""
        raise UsageError(f"diff compares two sides, and {len(words)} recordings are given", why, usual)
    return words[:1], words[1:]


def _normalization(text: str, before: int, after: int) -> "tuple[Normalization, list[float]]":
    """The unit of work, and how many of them each recording did."""
    from undwarf.views.comparison.model import Normalization

    count = before + after
    if text == "run":
        return Normalization("run"), [1.0] * count
    if text == "samples":
        return Normalization("samples"), [1.0] * count
    if text == "time":
        return Normalization("time"), [1.0] * count
    if text.startswith("event:") and text != "event:":
        return Normalization("event", text.removeprefix("event:")), [1.0] * count
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 < number < float("inf") for number in numbers):
        raise UsageError(
            f"{text!r} is no unit of work", "", "--normalize run, samples, time, event:NAME, or numbers above 0"
        )
    if len(numbers) == 1:
        numbers *= count
    elif len(numbers) == 2:
        numbers = [numbers[0]] * before + [numbers[1]] * after
    if len(numbers) != count:
        why = f"there are {len(numbers)} numbers for {count} recordings"
        raise UsageError("--normalize has the wrong number of numbers", why, "one for all, one a side, or one each")
    return Normalization("number"), numbers


def with_conditions(kinds: "tuple[By, ...]", conditions: "list[Condition]") -> "tuple[By, ...]":
    """The kinds of rows, and those that conditions are about."""
    return tuple(dict.fromkeys((*kinds, *(one.by for one in conditions if one.by is not None))))


def named_rows(conditions: "list[Condition]") -> "list[tuple[By, str]]":
    """The rows that conditions are about, which are compared however small they are."""
    return [(one.by, one.name) for one in conditions if one.by is not None]


def refuse_total(condition: "Condition", why: str) -> None:
    """Raise UsageError for a condition on a total of which only parts are compared."""
    if condition.by is None and condition.name == "total":
        raise UsageError(f"{condition.text!r} can never hold", why)


def _check(conditions: "list[Condition]", before: tuple[str, ...], after: tuple[str, ...], normalize: str) -> None:
    """Raise UsageError for a condition that could never be decided."""
    for condition in conditions:
        if normalize == "samples":
            refuse_total(condition, "with --normalize samples the total is always 100 %")
        if condition.by is None and condition.name == "total" and len(before) + len(after) == 2:
            raise UsageError(
                f"{condition.text!r} cannot be decided",
                "one recording a side does not say how much runs differ",
                "record several on a side: undwarf diff BEFORE... -- AFTER...",
            )


def _read(
    job: Job, path: str, work: float, kinds: "tuple[By, ...]", skid: bool, *, lines: bool
) -> "tuple[Recorded, ResolvedAccesses | None]":
    """Read, unwind and name one recording, and with types what it accesses. ``lines``: source lines were asked for."""
    from undwarf.views.comparison.model import Recorded

    if lines and "line" in kinds and job.fields is not None and "line" not in job.fields:
        raise UsageError(f"{job.source.path} has no source lines", "", "--by function")
    profile = job.profile(lines="line" in kinds)
    labels: Any = {}
    touched = None
    if {"type", "field"}.intersection(kinds):
        from undwarf.views.data.type_labels import type_labels

        job.need_recording("--by type")
        touched = job.touch(profile, skid=skid)
        profile, labels = touched.profile, type_labels(touched)
    lost = job.recording.records.lost if job.is_recording else 0
    return Recorded(path, profile, labels, work, lost), touched


def _name_of_side(recordings: "Sequence[Recorded]") -> str:
    """The recordings of a side, in a title."""
    names = [Path(one.path).name for one in recordings]
    if len(names) == 1:
        return names[0]
    first = _common_start(names)
    last = _common_start([name[len(first) :][::-1] for name in names])[::-1]
    return f"{first}*{last}" if first or last else f"{names[0]} and {len(names) - 1} more"


def _common_start(texts: "Sequence[str]") -> str:
    """What all texts begin with."""
    start = ""
    for letters in zip(*texts, strict=False):
        if len(set(letters)) > 1:
            break
        start += letters[0]
    return start


def _write_page(
    comparison: "Comparison",
    jobs: "list[tuple[Job, ResolvedAccesses | None]]",
    output: str,
    weight: "Weight",
    *,
    skid: bool,
    opens: bool,
) -> None:
    """Write the page to one file."""
    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.page.html import write
    from undwarf.serve.comparison_parts import Side, comparison_parts

    before, after = (Side(job.source, job.symfs, touched, skid) for job, touched in jobs)
    title = " → ".join(map(_name_of_side, (comparison.before, comparison.after)))
    parts = comparison_parts(comparison, before, after, title, weight=weight)
    target = Path(output)
    try:
        with whole_file(target) as sink:
            write(parts, sink)
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    size = target.stat().st_size / 1024
    click.echo(f"wrote {printable(output)} ({size:,.0f} KiB): open it in a browser", err=True)
    if opens:
        import webbrowser

        if not webbrowser.open(target.resolve().as_uri()):
            notify("warning", "no browser could be started: open the page in one")


def exit_code(verdicts: "list[Verdict]") -> int:
    """4 if a condition holds; undecided ones are noted."""
    from undwarf.outputs.diff_texts import verdict_text

    for verdict in verdicts:
        if verdict.state == "undecided":
            notify("warning", verdict_text(verdict))
    return HOLDS if any(verdict.state == "holds" for verdict in verdicts) else 0
