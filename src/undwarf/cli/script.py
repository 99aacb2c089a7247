"""``undwarf script``"""

import sys

import click

from undwarf.cli.common import Job, notify, recording_command

_NAMES = (
    "comm", "tid", "pid", "time", "tod", "cpu", "period", "event", "trace", "flags", "addr", "ip", "sym", "symoff",
    "dso", "dsoff", "srcline", "srccode", "iregs", "uregs", "brstack", "brstacksym", "brstackoff", "brstackinsn",
    "brstackdisasm", "insn", "insnlen", "bpf-output", "cgroup", "data_src", "weight", "ins_lat", "retire_lat",
    "phys_addr", "data_page_size", "code_page_size", "callindent", "ipc", "machine_pid", "synth", "vcpu",
)  # fmt: skip
"""The fields of undwarf.outputs.script, which help and completion do not import."""


def _complete(_context: click.Context, _parameter: click.Parameter, given: str) -> list[str]:
    """Complete the last name in a value of -F."""
    cut = max(given.rfind(mark) for mark in ",:+-") + 1
    # A minus within a name does not remove a field.
    cut = given.rfind(",") + 1 if given[cut - 1 : cut] == "-" and given[cut - 2 : cut - 1] not in ("", ",") else cut
    return [given[:cut] + name for name in _NAMES if name.startswith(given[cut:])]


@recording_command(
    "script",
    by_frame=True,
    epilog="""\b
Examples:
  undwarf script perf.data | head -40
  undwarf script -F comm,pid,tid,time,event,ip,sym --pid 4711 perf.data
  undwarf script -F +addr,-period --ns perf.data
  undwarf script --json perf.data | jq -r 'select(.comm == "cc1") | .frames[0].sym'
  undwarf script -F trace:time,event,trace -F hw: perf.data
  undwarf script -F ip,sym,brstacksym perf.data""",
)
@click.option(
    "-F",
    "--fields",
    metavar="[TYPE:]LIST",
    multiple=True,
    shell_complete=_complete,
    help="Fields as perf names them, changes to the default (+cpu,-dso), or fields of one type of event "
    "(trace:time,trace). Repeatable. Fields: " + ", ".join(_NAMES) + ".",
)
@click.option("--ns", "nanoseconds", is_flag=True, help="Print times in nanoseconds.")
@click.option(
    "--why",
    is_flag=True,
    help="After a stack that is not whole, print why it ends there; mark inferred frames.",
)
@click.option(
    "--perf-names",
    is_flag=True,
    help="Print [unknown] for functions without a symbol, as perf does, instead of FILE+0xSTART.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each sample.")
def command(job: Job, fields: tuple[str, ...], nanoseconds: bool, why: bool, perf_names: bool, as_json: bool) -> None:
    """Print every sample as text, in the format of perf script, or as JSON."""
    if as_json:
        _write_json(job, fields, perf_names)
        return
    from undwarf.outputs.script import (
        ScriptOptions,
        fields_of_event,
        file_offsets,
        has_chain,
        needs_more,
        parse_fields,
        write,
    )
    from undwarf.views.data.access_labels import access_values

    requests = [parse_fields(request) for request in fields]
    lines = any({"srcline", "srccode"} & ((request.named or frozenset()) | request.added) for request in requests)
    recording = job.recording
    profile = job.profile(by_time=True, runtime=True, lines=lines, starts=not perf_names, versions=True)
    # After the records were read: some of them describe further events.
    events = recording.events
    chosen = [fields_of_event(event, fields) for event in events]
    shown_fields = [shown for shown, _missing in chosen]
    absent = set().union(*(missing for _shown, missing in chosen))
    if any("tod" in shown for shown in shown_fields) and recording.header.clock_data is None:
        absent.add("tod")
    if absent:
        notify("note", f"not shown, since not recorded: {', '.join(sorted(absent))}")
    more = offsets = None
    if any(map(needs_more, shown_fields)):
        from undwarf.outputs.script_fields import SampleFields, Sources

        sources = Sources(recording.data, recording.records, profile, recording.addresses, nanoseconds=nanoseconds)
        more = SampleFields(sources, shown_fields)
    if any("dsoff" in shown for shown in shown_fields):
        offsets = file_offsets(profile, recording.images.images)
    options = ScriptOptions(
        shown_fields,
        [has_chain(event) for event in events],
        dumped=not recording.data.stitched,
        max_stack=job.max_stack or 1 << 30,
        nanoseconds=nanoseconds,
        why=why,
        more=more,
        offsets=offsets,
        accesses=access_values(profile, frozenset().union(*shown_fields)),
    )
    job.note_inferred(profile)
    known = len(recording.defects)
    write(profile, sys.stdout.buffer, options)
    if more is not None:
        more.close()
        job.warn(known)


def _write_json(job: Job, fields: tuple[str, ...], perf_names: bool) -> None:
    from undwarf.outputs.script import fields_of_event, parse_fields
    from undwarf.outputs.script_json import DEFAULT, ScriptJsonOptions, check_fields, write
    from undwarf.views.data.access_labels import access_values
    from undwarf.views.event_units import unit_of_event

    requests = [parse_fields(request) for request in fields]
    requested = frozenset().union(*((request.named or frozenset()) | request.added for request in requests))
    check_fields(requested)
    recording = job.recording
    profile = job.profile(
        by_time=True, runtime=True, lines="srcline" in requested, starts=not perf_names, versions=True
    )
    # After the records were read: some of them describe further events.
    events = recording.events
    shown = [fields_of_event(event, fields, DEFAULT)[0] for event in events]
    more = None
    if any("trace" in names for names in shown):
        from undwarf.outputs.script_fields import SampleFields, Sources

        sources = Sources(recording.data, recording.records, profile, recording.addresses)
        more = SampleFields(sources, [names & {"trace"} for names in shown])
    known = len(recording.defects)
    options = ScriptJsonOptions(
        shown,
        [unit_of_event(event.name) for event in events],
        max_stack=job.max_stack or 1 << 30,
        more=more,
        accesses=access_values(profile, frozenset().union(*shown)),
    )
    write(profile, sys.stdout.buffer, options)
    if more is not None:
        more.close()
        job.warn(known)
