"""The contents of a recording and the quality of its stacks, as text."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from undwarf.elf.headers import NOT_ELF
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint


class InfoOptions(NamedTuple):
    """``entries``: the most lines of a list."""

    entries: int = 12
    colour: bool = False


def write(overview: dict[str, Any], sink: TextIO, options: InfoOptions) -> None:
    """Write the overview of a recording (:func:`undwarf.views.overview.overview`)."""
    paint = Paint(options.colour)
    for lines in (
        _header(overview, paint),
        _events(overview, paint),
        _stacks(overview, paint, options.entries),
        _precise(overview, paint),
        _calls(overview, paint, options.entries),
        _missing(overview, paint, options.entries),
        _processes(overview, paint, options.entries),
        _records(overview, paint),
        _damage(overview, paint, options.entries),
    ):
        text = "\n".join(lines)
        if text:
            sink.write(text + "\n")


_DEFERRED = {
    "merged": "got their deferred user chain",
    "superseded": "of deferred chains were lost: the thread's next one came first",
    "exited": "of deferred chains were missing when their thread ended",
    "open": "of deferred chains were missing at the end of the recording",
    "duplicate": "deferred chains came twice; the first was taken",
    "unclaimed": "deferred chains belong to no sample",
}


def _more(kind: str, hidden: int, paint: Paint) -> str:
    return paint.dim(f"{'':12}and {hidden:,} more {kind} (--json lists all)")


def _header(overview: dict[str, Any], paint: Paint) -> Iterator[str]:
    form = f"{overview['form']} form, {overview['byte_order']}-endian"
    yield f"{paint.bold(printable(overview['file']))}  {paint.dim(form)}"
    header = overview["header"]
    duration = (overview["last_sample"] or 0) - (overview["first_sample"] or 0)
    rows = [
        ("host", header["hostname"]),
        ("kernel", " ".join(printable(part) for part in (header["osrelease"], header["arch"]) if part)),
        ("cpu", header["cpudesc"]),
        ("perf", header["version"]),
        ("command", " ".join(header["cmdline"] or ())),
        ("begin", _moment(overview["first_sample"])),
        ("end", _moment(overview["last_sample"])),
        ("duration", f"{duration / 1e9:.3f} s" if duration else ""),
    ]
    for title, value in rows:
        if value:
            yield f"  {title:10}{printable(str(value))}"


def _moment(time: int | None) -> str:
    return f"{time / 1e9:.6f} s, by the recording's clock" if time is not None else ""


def _events(overview: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield ""
    yield paint.bold("Events")
    for event in overview["events"]:
        rate = f"{event['frequency']:,} Hz" if "frequency" in event else f"every {event['period']:,}"
        if not event.get("frequency", event.get("period")):
            rate = "read with another's samples"
        dump = f", {event['stack_dump']:,} bytes of stack each" if event["stack_dump"] else ""
        yield f"{event['samples']:>10,}  {printable(event['name'])}  {paint.dim(rate + dump)}"
    for note in overview["notes"]:
        of = f"{printable(note.event)}: " if note.event else ""
        size = paint.dim(f" ({note.bytes:,} bytes)") if note.bytes else ""
        yield f"{'':12}{of}{paint.warn(printable(note.text))}{size}"
        yield paint.dim(f"{'':14}→ {printable(note.advice)}")
    if overview["lost"]:
        advice = paint.dim("stacks and mappings may be missing; record with a larger -m")
        yield f"{overview['lost']:>10,}  {paint.bad('lost')}  {advice}"


def _stacks(overview: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    quality = overview["wholeness"]
    yield ""
    yield paint.bold("Stacks")
    unwound = quality.unwound
    if unwound:
        style = paint.good if quality.share >= 0.95 else paint.warn
        share = style(f"{100 * quality.share:.2f} % whole")
        yield f"{quality.whole:>10,}  of {unwound:,} user stacks reach their root: {share}"
    for count, text in (
        (quality.reasons.get("fiber_root", 0), "of these reach the root of a fiber"),
        (
            quality.reasons.get("signal_stack", 0),
            "of these that of an alternate signal stack; the rest is elsewhere",
        ),
        (quality.reasons.get("entered_stack", 0), "of these that of a stack entered from another one"),
        (quality.inferred, "more reach it with callers inferred from other dumps or memory of their thread"),
        (quality.copied_code, "pass through code copied to memory without a file, found by the file it is from"),
        (quality.as_recorded, "have frame-pointer chains as recorded, which cannot tell if they are whole"),
        (quality.without_chain, "have no call chains: they were recorded without --call-graph"),
        (quality.without_user, "have no user part (kernel threads, the idle task)"),
        (overview["deferred_not_merged"], "had their user chain deferred, and it never came"),
        *((overview.get("deferred", {}).get(kind, 0), text) for kind, text in _DEFERRED.items()),
    ):
        if count:
            yield f"{count:>10,}  {text}"
    gaps = quality.gaps
    if not gaps:
        return
    yield ""
    yield paint.bold("Why stacks are not whole, and what would help")
    advised: set[str] = set()
    for gap in gaps[:entries]:
        share = gap.samples / max(1, unwound)
        image = printable(gap.image)
        file = f"  {paint.dim('in')} {image}" if image != "[unknown]" else ""
        yield f"{gap.samples:>10,}  {paint.share(share, f'{100 * share:5.2f} %')}  {gap.description}{file}"
        if gap.advice and gap.advice not in advised:
            advised.add(gap.advice)
            yield paint.dim(f"{'':21}→ {printable(gap.advice)}")
    if len(gaps) > entries:
        yield _more("places", len(gaps) - entries, paint)


_PRECISE = {
    "fitting": "fit as they are",
    "corrected": "were corrected to the sampled instruction",
    "returned": "of these after the function had returned: its caller is inferred",
    "followed": "returned to callers that the recorded branches show",
    "unproven": "stay open: nothing proves a caller, and the stack has its first frame alone",
}


def _precise(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    counts = found["precise"]
    if not counts:
        return
    yield ""
    title = f"{counts['samples']:,} samples; registers and stack are later than the exact address"
    yield f"{paint.bold('Precise events')}  {paint.dim(title)}"
    for kind, text in _PRECISE.items():
        if counts[kind]:
            share = f"{100 * counts[kind] / counts['samples']:6.2f} %"
            yield f"{counts[kind]:>10,}  {share}  {text}"


_VERDICTS = {
    "proven": "proven: the call before the return address is one of the callee",
    "consistent": "possible: an indirect call, an import or a jump may lead to the callee",
    "contradicted": "contradicted: the call is of another function, or there is none",
}


def _calls(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    verified = found.get("calls")
    if verified is None:
        return
    calls, pairs = verified.calls._asdict(), verified.pairs
    checked = sum(calls[verdict] for verdict in _VERDICTS)
    yield ""
    title = f"{sum(pairs):,} pairs of caller and callee, each by the calls in sampled stacks"
    yield f"{paint.bold('Callers, checked against the code')}  {paint.dim(title)}"
    for verdict, text in _VERDICTS.items():
        share = f"{100 * calls[verdict] / max(1, checked):7.3f} %"
        bad = verdict == "contradicted" and calls[verdict]
        yield f"{calls[verdict]:>10,}  {paint.bad(share) if bad else share}  {text}"
    if calls["unchecked"]:
        yield f"{calls['unchecked']:>10,}  not checked: the kernel, code made at run time, missing files"
    shown = verified.contradictions[:entries]
    for one in shown:
        caller, callee = (
            f"{printable(name)} {paint.dim('in ' + printable(image))}"
            for name, image in ((one.caller, one.caller_image), (one.callee, one.callee_image))
        )
        where = f"before {one.caller_address + 1:#x}"
        yield f"{one.calls:>10,}  {caller}: {one.reason} {paint.dim(where)}, not {callee}"
    if len(verified.contradictions) > len(shown):
        yield _more("pairs", len(verified.contradictions) - len(shown), paint)


def _missing(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    files = found["missing"]
    if not files:
        return
    yield ""
    yield f"{paint.bold('Files that could not be used')}  {paint.dim('by the samples that pass through them')}"
    for file in files[:entries]:
        build = paint.dim(f"  build-id {file.build_id}") if file.build_id else ""
        yield f"{file.samples:>10,}  {printable(file.name)}: {paint.warn(printable(file.problem))}{build}"
    if len(files) > entries:
        yield _more("files", len(files) - entries, paint)
    if any(file.problem != NOT_ELF for file in files):
        yield paint.dim(f"{'':10}  → undwarf info --missing lists commands that fetch them")


def _processes(overview: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    processes = overview["processes"]
    yield ""
    yield f"{paint.bold('Processes')}  {paint.dim(f'{len(processes):,} with samples')}"
    for process in processes[:entries]:
        comm = printable(process["comm"]) if process["comm"] is not None else paint.unknown("[unknown]")
        yield f"{process['samples']:>10,}  {process['pid']:>7} {comm}"
    if len(processes) > entries:
        yield _more("processes", len(processes) - entries, paint)


def _records(overview: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield ""
    yield paint.bold("Records")
    for name, count in sorted(overview["records"].items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:>10,}  {printable(name)}"


def _damage(overview: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    defects = overview["defects"]
    if not defects:
        return
    yield ""
    yield paint.bold("Damage, worked around")
    for defect in defects[:entries]:
        where = f" in {printable(defect.subject)}" if defect.subject else ""
        detail = paint.dim(f": {printable(defect.detail)}") if defect.detail else ""
        yield f"{defect.count:>10,}  {printable(defect.kind)}{where}{detail}"
    if len(defects) > entries:
        yield _more("kinds", len(defects) - entries, paint)
