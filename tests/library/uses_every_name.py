"""A program that uses every public name of undwarf, for type checkers; a test runs it as well.

Usage: uses_every_name.py RECORDING SYMFS PROGRAM, where PROGRAM has debugging information.
"""

from __future__ import annotations

import io
import sys

import undwarf


def total_of(node: undwarf.TreeNode) -> int:
    return node.self_weight + sum(total_of(child) for child in node.children)


def describe(record: object) -> str:
    if isinstance(record, undwarf.SampleRecord):
        return f"sample {record.number} at {record.ip:#x}"
    if isinstance(record, undwarf.MmapRecord):
        return f"{record.path} at {record.start:#x}"
    if isinstance(record, undwarf.CommRecord):
        return record.name
    if isinstance(record, undwarf.ForkRecord):
        return f"{record.pid} of {record.parent}"
    if isinstance(record, undwarf.ExitRecord):
        return f"end of {record.tid}"
    if isinstance(record, undwarf.LostRecord):
        return f"{record.lost} lost"
    if isinstance(record, undwarf.OtherRecord):
        return record.kind
    return ""


def columns_of(profile: undwarf.Profile) -> int:
    samples: undwarf.SampleColumns = profile.samples.columns
    view: undwarf.SampleView = profile.samples
    stacks: undwarf.StackColumns = profile.stacks
    frames: undwarf.FrameColumns = profile.frames
    functions: undwarf.FunctionTable = profile.functions
    images: undwarf.Rows[undwarf.ImageInfo] = profile.images
    events: undwarf.Rows[undwarf.EventInfo] = profile.events
    table: undwarf.Table = events.as_table()
    assert next(table.rows())[table.names.index("name")] == events[0].name
    assert view.time[0] == samples.time[0]
    node = samples.stack[0]
    name = functions.name[frames.function[stacks.frame[node]]]
    return len(name) + len(images[0].path) + len(events[0].name)


def types_of(found: undwarf.DataTypes) -> int:
    rows: undwarf.Rows[undwarf.TypeRow] = found.types
    fields: list[undwarf.FieldRow] = [field for row in rows for field in row.fields.values()]
    counts: list[undwarf.Counts] = [field.counts for field in fields]
    memory: list[undwarf.MemoryCounts] = [one.memory for one in counts]
    instructions: list[undwarf.InstructionRow] = found.instructions
    sharing: list[undwarf.Sharing] = found.sharing
    parties: list[undwarf.Party] = [party for one in sharing for party in one.written]
    return sum(one.weight for one in counts) + sum(one.known for one in memory) + len(instructions) + len(parties)


def main(path: str, symfs: str, program: str) -> None:
    undwarf.handle_truncation()
    limits: undwarf.Limits = undwarf.Limits(max_frames=100)
    options: undwarf.Options = undwarf.Options(symfs=symfs, limits=limits)
    recording: undwarf.Recording = undwarf.open(path, options, format="perf.data", cache=False)
    header: undwarf.Header = recording.header
    events: list[undwarf.Event] = recording.events
    processes: dict[int, undwarf.Process] = recording.processes
    pid = next(iter(processes))
    mappings: list[undwarf.Mapping] = recording.mappings(pid, recording.time_range[1])
    print(header.arch, events[0].name, processes[pid].comm, len(mappings))
    print(len({describe(record) for record in recording.iter_records()}))

    filters: undwarf.Filters = undwarf.Filters(comms=["words"])
    chosen: undwarf.ProfileOptions = undwarf.ProfileOptions(filters=filters, runtime=True)
    profile: undwarf.Profile = recording.profile(chosen, by_time=True)
    sample: undwarf.Sample = profile.samples[0]
    frame: undwarf.Frame = sample.stack[-1]
    address: undwarf.CodeAddress = frame.address
    stop: undwarf.StopReason = sample.stop
    provenance: undwarf.Provenance = frame.provenance
    print(stop.name, provenance.name, hex(address), address.lookup, columns_of(profile))
    tree: undwarf.CallTree = profile.call_tree(event=events[0].name, weight="samples")
    print(sum(total_of(root) for root in tree.roots), profile.callers(event=0).total)
    calls: undwarf.VerifiedCalls = recording.verify_calls(recording.profile(inline=False))
    tally: undwarf.Tally = calls.calls
    false: list[undwarf.Contradiction] = calls.contradictions
    print(tally.proven, len(false))
    print(types_of(recording.data_types(skid=True)))
    shrunk: undwarf.Shrunk = recording.shrink(io.BytesIO())
    defects: undwarf.Defects = recording.defects
    kinds: list[undwarf.Defect] = list(defects)
    print(shrunk.shortened, [one.kind for one in kinds])
    recording.close()

    resolver: undwarf.TypeResolver = undwarf.TypeResolver(program)
    table: undwarf.UnwindTable = undwarf.UnwindTable.from_elf(program)
    rule: undwarf.Rule | None = table.rule_at(table.starts[0])
    accesses: list[undwarf.Access] = resolver.at(table.starts[0])
    evidence: undwarf.TypeEvidence = accesses[0].evidence
    print(rule, evidence.name, undwarf.accesses(program, [table.starts[0]])[0].insn)

    unwinder: undwarf.Unwinder = undwarf.Unwinder(mappings, lambda _address, _size: None, symfs=symfs)
    stack: undwarf.UnwoundStack = unwinder.unwind({"rip": table.starts[0], "rsp": 0x7000})
    unwound: undwarf.UnwoundFrame = stack.frames[0]
    symbolizer: undwarf.Symbolizer = undwarf.Symbolizer(program)
    found: list[undwarf.Symbolized] = symbolizer.lookup([table.starts[0], address])
    lines: list[undwarf.SourceFrame] = found[0].frames
    print(unwound.path, stack.stop.description, found[0].name, lines[0].line, undwarf.demangle("_Z1fv"))

    with undwarf.open(io.BytesIO(b"main;work 12"), format="folded") as opened:
        assert isinstance(opened, undwarf.ProfileFile)
        print(opened.format, opened.profile(by_time=False).call_tree().total)

    sink = io.BytesIO()
    with undwarf.PerfDataWriter(sink, [undwarf.Event("requests")]) as writer:
        writer.sample(0x1000, 1, 1, 1, callchain=[0x1000])
    print(len(sink.getvalue()))
    for kind in (undwarf.ElfError, undwarf.NothingUsable, undwarf.UnreadableInput, undwarf.UsageError):
        error: undwarf.UndwarfError = kind("what", "why", "hint")
        print(error.exit_code, error)
    print(undwarf.__version__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
