"""What a recording holds and how far it can be trusted, as text or JSON."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from undwarf.elf.headers import NOT_ELF
from undwarf.outputs.json_lines import dump
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint


class InfoOptions(NamedTuple):
    """``json`` for machines; ``entries``: how many lines a list has at most."""

    json: bool = False
    entries: int = 12
    colour: bool = False


def write(found: dict[str, Any], sink: TextIO, options: InfoOptions) -> None:
    """Write what :func:`undwarf.views.overview.overview` found."""
    if options.json:
        dump(found, sink)
        return
    paint = Paint(options.colour)
    for lines in (
        _header(found, paint),
        _events(found, paint),
        _stacks(found, paint, options.entries),
        _precise(found, paint),
        _calls(found, paint, options.entries),
        _missing(found, paint, options.entries),
        _processes(found, paint, options.entries),
        _records(found, paint),
        _damage(found, paint, options.entries),
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


def _header(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    form = f"{found['form']} form, {found['byte_order']}-endian"
    yield f"{paint.bold(printable(found['file']))}  {paint.dim(form)}"
    header = found["header"]
    rows = [
        ("host", header["hostname"]),
        ("kernel", " ".join(printable(part) for part in (header["osrelease"], header["arch"]) if part)),
        ("cpu", header["cpudesc"]),
        ("perf", header["version"]),
        ("command", " ".join(header["cmdline"] or ())),
        ("begin", _moment(found["first_sample_s"])),
        ("end", _moment(found["first_sample_s"], found["duration_s"])),
        ("duration", f"{found['duration_s']:.3f} s" if found["duration_s"] else ""),
    ]
    for title, value in rows:
        if value:
            yield f"  {title:10}{printable(str(value))}"


def _moment(seconds: float | None, later: float = 0.0) -> str:
    return f"{seconds + later:.6f} s, by the recording's clock" if seconds is not None else ""


def _events(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield ""
    yield paint.bold("Events")
    for event in found["events"]:
        rate = f"{event['frequency']:,} Hz" if "frequency" in event else f"every {event['period']:,}"
        if not event.get("frequency", event.get("period")):
            rate = "read with another's samples"
        dump = f", {event['stack_dump']:,} bytes of stack each" if event["stack_dump"] else ""
        yield f"{event['samples']:>10,}  {printable(event['name'])}  {paint.dim(rate + dump)}"
    if found["lost"]:
        advice = paint.dim("stacks and mappings may be missing; record with a larger -m")
        yield f"{found['lost']:>10,}  {paint.bad('lost')}  {advice}"


def _stacks(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    whole = found["wholeness"]
    yield ""
    yield paint.bold("Stacks")
    unwound = whole["unwound"]
    if unwound:
        style = paint.good if whole["share"] >= 0.95 else paint.warn
        share = style(f"{100 * whole['share']:.2f} % whole")
        yield f"{whole['whole']:>10,}  of {unwound:,} user stacks reach their root: {share}"
    for count, text in (
        (whole["reasons"].get("fiber_root", 0), "of these reach the root of a fiber"),
        (whole["reasons"].get("signal_stack", 0), "of these that of an alternate signal stack; the rest is elsewhere"),
        (whole["reasons"].get("entered_stack", 0), "of these that of a stack entered from another one"),
        (whole["inferred"], "more reach it with callers inferred from other dumps or memory of their thread"),
        (whole["copied_code"], "pass through code copied to memory without a file, found by the file it is from"),
        (whole["as_recorded"], "have frame-pointer chains as recorded, which cannot tell if they are whole"),
        (whole["without_chain"], "have no call chains: they were recorded without --call-graph"),
        (whole["without_user"], "have no user part (kernel threads, the idle task)"),
        (found["deferred_not_merged"], "had their user chain deferred, and it never came"),
        *((found.get("deferred", {}).get(kind, 0), text) for kind, text in _DEFERRED.items()),
    ):
        if count:
            yield f"{count:>10,}  {text}"
    gaps = whole["gaps"]
    if not gaps:
        return
    yield ""
    yield paint.bold("Why stacks are not whole, and what would help")
    shown: set[str] = set()
    for gap in gaps[:entries]:
        share = gap["samples"] / max(1, unwound)
        image = printable(gap["image"])
        where = f"  {paint.dim('in')} {image}" if image != "[unknown]" else ""
        yield f"{gap['samples']:>10,}  {paint.share(share, f'{100 * share:5.2f} %')}  {gap['description']}{where}"
        if gap["advice"] and gap["advice"] not in shown:
            shown.add(gap["advice"])
            yield paint.dim(f"{'':21}→ {printable(gap['advice'])}")
    if len(gaps) > entries:
        yield _more("places", len(gaps) - entries, paint)


_PRECISE = {
    "fitting": "fit as they are",
    "corrected": "were corrected to the sampled instruction",
    "returned": "of these after the function had returned: its caller is inferred",
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
    calls, pairs = verified["calls"], verified["pairs"]
    checked = sum(calls[verdict] for verdict in _VERDICTS)
    yield ""
    title = f"{sum(pairs.values()):,} pairs of caller and callee, each by the calls in sampled stacks"
    yield f"{paint.bold('Callers, checked against the code')}  {paint.dim(title)}"
    for verdict, text in _VERDICTS.items():
        share = f"{100 * calls[verdict] / max(1, checked):7.3f} %"
        bad = verdict == "contradicted" and calls[verdict]
        yield f"{calls[verdict]:>10,}  {paint.bad(share) if bad else share}  {text}"
    if calls["unchecked"]:
        yield f"{calls['unchecked']:>10,}  not checked: the kernel, code made at run time, missing files"
    shown = verified["contradictions"][:entries]
    for one in shown:
        caller, callee = (
            f"{printable(one[side])} {paint.dim('in ' + printable(one[side + '_image']))}"
            for side in ("caller", "callee")
        )
        where = f"before {one['caller_address'] + 1:#x}"
        yield f"{one['calls']:>10,}  {caller}: {one['reason']} {paint.dim(where)}, not {callee}"
    if len(verified["contradictions"]) > len(shown):
        yield _more("pairs", len(verified["contradictions"]) - len(shown), paint)


def _missing(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    files = found["missing"]
    if not files:
        return
    yield ""
    yield f"{paint.bold('Files that could not be used')}  {paint.dim('by the samples that pass through them')}"
    for one in files[:entries]:
        build = paint.dim(f"  build-id {one['build_id']}") if one["build_id"] else ""
        yield f"{one['samples']:>10,}  {printable(one['name'])}: {paint.warn(printable(one['problem']))}{build}"
    if len(files) > entries:
        yield _more("files", len(files) - entries, paint)
    if any(one["problem"] != NOT_ELF for one in files):
        yield paint.dim(f"{'':10}  → undwarf info --missing lists commands that fetch them")


def _processes(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    processes = found["processes"]
    yield ""
    yield f"{paint.bold('Processes')}  {paint.dim(f'{len(processes):,} with samples')}"
    for process in processes[:entries]:
        comm = printable(process["comm"]) if process["comm"] is not None else paint.unknown("[unknown]")
        yield f"{process['samples']:>10,}  {process['pid']:>7} {comm}"
    if len(processes) > entries:
        yield _more("processes", len(processes) - entries, paint)


def _records(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield ""
    yield paint.bold("Records")
    for name, count in sorted(found["records"].items(), key=lambda one: (-one[1], one[0])):
        yield f"{count:>10,}  {printable(name)}"


def _damage(found: dict[str, Any], paint: Paint, entries: int) -> Iterator[str]:
    defects = found["defects"]
    if not defects:
        return
    yield ""
    yield paint.bold("Damage, worked around")
    for defect in defects[:entries]:
        where = f" in {printable(defect['subject'])}" if defect["subject"] else ""
        detail = paint.dim(f": {printable(defect['detail'])}") if defect["detail"] else ""
        yield f"{defect['count']:>10,}  {printable(defect['kind'])}{where}{detail}"
    if len(defects) > entries:
        yield _more("kinds", len(defects) - entries, paint)
