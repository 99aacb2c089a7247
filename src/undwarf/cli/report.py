"""``undwarf report``"""

import sys
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import ROWS, SKID, Job, Number, is_given, notify, recording_command, terminal_width
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.profile.model import Profile
    from undwarf.views.data.access_labels import SampleLabels
    from undwarf.views.report import Graph
    from undwarf.views.sample_selection import Weight


_PERF_GRAPHS = frozenset(
    {"graph", "flat", "fractal", "folded", "function", "address", "srcline", "percent", "period", "count"}
)
"""Words of perf's -g for how a tree is drawn and what its nodes are; they have no effect here."""
_PERF_NUMBERS = frozenset({"overhead", "overhead_self", "overhead_children", "sample", "period"})
"""Fields of perf's -F that are columns of numbers."""


def call_graph(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, float | None]:
    """``none``, ``caller`` or ``callee``, and the percentage below which branches are hidden.

    As in perf, the words may have any order, with others among them: ``graph,0.5,caller``. Of two numbers, the second
    limits the lines in perf.
    """
    words = [word.strip() for word in value.split(",") if word.strip()]
    kinds = [word for word in words if word in ("none", "caller", "callee")]
    numbers = [word for word in words if word.lstrip("+-")[:1].isdigit() or word in ("nan", "inf")]
    other = [word for word in words if word not in kinds and word not in numbers and word not in _PERF_GRAPHS]
    if other or not words:
        raise click.BadParameter(f"{','.join(other) or value!r} is not one of none, caller, callee")
    limit = Number(0, 100).convert(numbers[0], parameter, context) if numbers else None
    return kinds[0] if kinds else "caller", limit


def perf_columns(fields: str) -> tuple[str, bool, bool]:
    """(sort keys, whether callees count, whether samples have a column) of perf's ``-F overhead,sym``."""
    words = [word.strip().lstrip("+") for word in fields.split(",") if word.strip()]
    keys = [word for word in words if word not in _PERF_NUMBERS]
    children = "overhead_children" in words or not {"overhead", "overhead_self"}.intersection(words)
    return ",".join(keys) or "comm,dso,sym", children, "sample" in words


FIELDS = click.option(
    "-F",
    "--fields",
    "perf_fields",
    metavar="KEYS",
    default=None,
    help="As in perf: overhead, overhead_children and sample are columns of numbers, others are sort keys.",
)
GROUPED = click.option(
    "--group/--no-group",
    "grouped",
    default=None,
    help="Show all events, or none, as columns side by side. Default: events recorded as a group.",
)
CHILDREN = click.option(
    "--children/--no-children",
    default=True,
    help="Include the weight of callees in each function, or only its own weight.",
)
CALL_GRAPH = click.option(
    "-g",
    "--call-graph",
    "graph",
    callback=call_graph,
    default="caller",
    metavar="none|caller|callee[,PERCENT]",
    help="The tree below the table: caller: from roots down; callee: from hot functions up. Default: caller,5.",
)
PERCENT_LIMIT = click.option(
    "--percent-limit", type=Number(0, 100), default=0.5, show_default=True, help="Hide rows below this percentage."
)


@recording_command(
    "report",
    by_frame=True,
    profiles=True,
    epilog="""\b
Examples:
  undwarf report perf.data
  undwarf report --no-children --sort dso,sym perf.data
  undwarf report -g none -s type,typeoff perf.data
  undwarf report -g none -s typeoff,mem,tlb perf.data
  undwarf report -g callee --comm cc1plus perf.data
  undwarf report -g caller,1 --percent-limit 2 perf.data
  undwarf report --branch-history perf.data
  undwarf report cpu.pb.gz
  perf script | undwarf report -
  undwarf report --source parse_line perf.data
  undwarf report --source 'std::vector<int>::push_back' --asm perf.data
  undwarf report --json perf.data | jq '.events[0].rows[:5]'
  undwarf report --json perf.data | jq '.events[0].tree[] | select(.parent == null)'""",
)
@click.option(
    "-s",
    "--sort",
    default="comm,dso,sym",
    show_default=True,
    metavar="KEYS",
    help="Keys that make a row: comm, pid, tid, cpu, event, dso, sym, srcline, srcfile; type, typeoff, typecln: "
    "accessed data; mem, snoop, tlb, locked, blocked, local_weight, local_ins_lat, symbol_daddr, dso_daddr, "
    "dcacheline, phys_daddr, data_page_size, code_page_size: recorded details of the access.",
)
@FIELDS
@CHILDREN
@CALL_GRAPH
@PERCENT_LIMIT
@ROWS
@click.option(
    "--weight", type=click.Choice(["period", "samples", "latency"]), default="period", help="What the numbers count."
)
@GROUPED
@SKID
@click.option("-n", "--show-nr-samples", is_flag=True, help="Add a column with the number of samples.")
@click.option(
    "--source",
    "function",
    metavar="FUNCTION",
    default=None,
    help="Show the source of this function with the weight of each line.",
)
@click.option("--asm", is_flag=True, help="With --source: show the instructions below each line.")
@click.option(
    "-b",
    "--branch-stack",
    "pairs",
    is_flag=True,
    help="Count the recorded branches, from source to target, instead of the samples.",
)
@click.option(
    "--branch-history",
    "history",
    is_flag=True,
    help="In stacks, insert the branches before a sample between its function and its callers.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: rows, and the tree as nodes with the id of their parent."
)
def command(
    job: Job,
    sort: str,
    perf_fields: str | None,
    children: bool,
    graph: tuple["Graph", float | None],
    percent_limit: float,
    rows: int | None,
    weight: "Weight",
    grouped: bool | None,
    skid: bool,
    show_nr_samples: bool,
    function: str | None,
    asm: bool,
    pairs: bool,
    history: bool,
    as_json: bool,
) -> None:
    """Show hot functions and the call tree in the terminal.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    from undwarf.outputs.report import ReportOptions
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.views.data.access_labels import MEMORY_KEYS
    from undwarf.views.flat_profile import LABEL_KEYS, SOURCE_KEYS, parse_keys
    from undwarf.views.report import compute_report
    from undwarf.views.sample_selection import refuse_sums

    if asm and function is None:
        raise UsageError("--asm needs --source FUNCTION", "", "name the function to disassemble")
    if function is not None:
        _show_source(job, function, weight, asm, as_json)
        return
    if perf_fields is not None:
        sort, children, counted = perf_columns(perf_fields)
        show_nr_samples = show_nr_samples or counted
    keys = parse_keys(sort)
    if job.fields is not None:
        keys = _present(job, keys, chosen=perf_fields is not None or is_given("sort"))
        for option, given in (("--branch-stack", pairs), ("--branch-history", history), ("--skid", skid)):
            if given:
                job.need_recording(option)
    profile = job.profile(lines=bool(SOURCE_KEYS.intersection(keys)), branch_history=pairs or history)
    if show_nr_samples:
        refuse_sums(profile)
    if pairs or history:
        profile = _with_branches(job, profile, pairs)
    labels: SampleLabels = {}
    if set(LABEL_KEYS).intersection(keys):
        from undwarf.views.data.type_labels import type_labels

        touched = job.touch(profile, skid=skid)
        profile = touched.profile
        labels = type_labels(touched)
    elif skid:
        raise UsageError("--skid needs data types", "", f"sort by one of {', '.join(LABEL_KEYS)}")
    if set(MEMORY_KEYS).intersection(keys):
        labels = {**labels, **job.access_labels(profile, keys)}
    kind, tree_limit = graph
    options = ReportOptions(
        keys=keys,
        children=children,
        graph=kind,
        percent_limit=percent_limit,
        tree_limit=tree_limit if tree_limit is not None else (0.5 if as_json else 5.0),
        rows=rows if rows is not None else 40 if sys.stdout.isatty() else 0,
        weight=weight,
        show_samples=show_nr_samples,
        colour=wants_colour(sys.stdout),
        width=terminal_width(),
        lost=job.recording.records.lost if job.is_recording else None,
        path=job.source.path,
    )
    report = compute_report(
        profile,
        keys,
        weight,
        labels=labels,
        # JSON has both weights of each row.
        children=children or as_json,
        graph=kind,
        min_share=options.tree_limit / 100,
        groups=_groups(job, grouped),
        dump=job.stack_dump,
    )
    if as_json:
        from undwarf.outputs.report_json import write
    else:
        from undwarf.outputs.report import write
    write(report, sys.stdout, options)


_FIELD_OF = {"srcline": "line", "srcfile": "line"}
"""The field that a sort key needs, if it has another name."""


def _present(job: Job, keys: tuple[str, ...], *, chosen: bool) -> tuple[str, ...]:
    """Those of the sort keys that a profile of another tool has. Raises UsageError if one is missing that was
    ``chosen``."""
    from undwarf.views.flat_profile import FRAME_KEYS, SAMPLE_KEYS

    fields = {"event", "sym", *(job.fields or ())}
    for key in keys:
        if key not in SAMPLE_KEYS + FRAME_KEYS:
            job.need_recording(f"--sort {key}")
    missing = [key for key in keys if _FIELD_OF.get(key, key) not in fields]
    if missing and chosen:
        raise UsageError(f"{job.source.path} cannot be sorted by {missing[0]}", "it does not say that", "--sort sym")
    return tuple(key for key in keys if key not in missing)


def _groups(job: Job, grouped: bool | None) -> tuple[tuple[int, ...], ...]:
    """Groups of events whose columns are side by side: all events, none, or by default as they were recorded."""
    events = range(len(job.source.events))
    if grouped is None and not job.is_recording:
        return ()
    if grouped is None:
        return tuple(
            tuple(events[leader : leader + members])
            for _name, leader, members in job.recording.header.groups
            if members > 1
        )
    return (tuple(events),) if grouped else ()


def _with_branches(job: Job, profile: "Profile", pairs: bool) -> "Profile":
    """The profile of its branches: each as a sample, or their ends as functions within stacks."""
    from undwarf.perfdata import SampleField
    from undwarf.views.branch_profiles import branch_pairs, name_branch_ends

    if not any(event.sample_type & SampleField.BRANCH_STACK for event in job.recording.events):
        name = job.recording.path
        raise UsageError(f"{name} has no branch stacks", "", "record with perf record -b, or -j any,u")
    if pairs:
        return branch_pairs(profile)
    return name_branch_ends(profile)


def _show_source(job: Job, function: str, weight: "Weight", asm: bool, as_json: bool) -> None:
    """Show the source of a function, with ``asm`` also its instructions."""
    from undwarf.limits import DEFAULT
    from undwarf.outputs.source import SourceOfEvent, SourceOptions, write, write_json
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.views.function_code import Disassembly
    from undwarf.views.report import unit_of_weights
    from undwarf.views.sample_selection import sections
    from undwarf.views.source import listings

    code = None
    if asm:
        job.need_recording("--asm")
        recording = job.recording
        code = Disassembly(recording.images.images.__getitem__, recording.lines)
    if job.fields is not None and "line" not in job.fields:
        raise UsageError(f"{job.source.path} has no source lines", "", "undwarf report without --source shows it")
    profile = job.profile(lines=True)
    options = SourceOptions(
        weight=weight,
        path=job.source.path,
        colour=wants_colour(sys.stdout),
        width=terminal_width(),
    )
    files: dict[str, Any] = {"source_bytes": DEFAULT.source_bytes, "symfs": job.symfs}
    events = [
        SourceOfEvent(
            name if event is not None else None,
            unit_of_weights(profile, event),
            listings(profile, function, weight, event=event, disassemble=code, **files),
        )
        for event, name in sections(profile, ())
    ]
    (write_json if as_json else write)(events, sys.stdout, options)
    if code is not None and code.skipped:
        notify("note", f"{code.skipped:,} bytes of code are not shown: the function is too large")
