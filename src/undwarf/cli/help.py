"""The help of a command: what it does, examples, and its options in groups."""

import inspect

import click

_READING = (
    ("Which samples", ("spans", "pids", "tids", "cpus", "comms", "events", "symbols", "dsos", "callers")),
    ("Where files are", ("symfs", "debug_dirs", "debuginfod", "kallsyms", "vmlinux")),
    ("Stacks and names", ("max_stack", "no_other_dumps", "no_inline", "unwind_order", "skid")),
    ("How it runs", ("no_cache", "jobs", "stats", "no_pager")),
)
"""Groups of options of commands that read a recording, by parameter."""
_SAMPLING = (
    ("What to sample", ("pids", "tids", "everything", "cpus", "events", "filters", "no_inherit")),
    ("How often, how long", ("frequency", "period", "delay", "seconds")),
    ("Stacks", ("mode", "graph", "call_graph", "dump", "other_dumps", "off_cpu", "least")),
)
"""Groups of options of commands that sample."""
_FIRST = "Options"


def format_help(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the help of a command: the examples, then the options, in groups if there are many."""
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    if command.epilog:
        formatter.write_paragraph()
        formatter.write_text(inspect.cleandoc(command.epilog))
    for title, rows in option_groups(command, context):
        with formatter.section(title):
            formatter.write_dl(rows)


def option_groups(command: click.Command, context: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """The options in groups with their titles: of each the names with the metavar, and the help."""
    parameters = command.get_params(context)
    names = {parameter.name for parameter in parameters}
    groups = _SAMPLING if "everything" in names else _READING if "symfs" in names else ()
    title_of = {name: title for title, members in groups for name in members}
    rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (_FIRST, *(title for title, _members in groups))}
    for parameter in parameters:
        row = parameter.get_help_record(context)
        # Arguments without help are in the usage line.
        if row is not None and (row[1] or isinstance(parameter, click.Option)):
            rows[title_of.get(parameter.name or "", _FIRST)].append(row)
    return [(title, group) for title, group in rows.items() if group]
