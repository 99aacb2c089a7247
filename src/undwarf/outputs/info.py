"""What a recording holds and how far it can be trusted, as text or JSON."""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TextIO

from undwarf.outputs.escape import printable
from undwarf.profile.model import NONE, Profile
from undwarf.views.wholeness import wholeness

if TYPE_CHECKING:
    from undwarf.api import Recording


@dataclass(frozen=True, slots=True)
class InfoOptions:
    """``json`` for machines; ``gaps``: how many reasons are listed."""

    json: bool = False
    gaps: int = 12


def collect(recording: "Recording", profile: Profile) -> dict[str, Any]:
    """Everything `undwarf info` shows, as plain values."""
    header = recording.header
    records = recording.records
    dump = max((event.sample_stack_user for event in recording.events), default=0)
    whole = wholeness(profile, dump)
    processes: Counter[tuple[int, int]] = Counter(zip(profile.samples.pid, profile.samples.comm, strict=True))
    frames = _frames_by_image(profile)
    times = profile.samples.time
    return {
        "file": recording.path,
        "form": recording.data.form,
        "byte_order": recording.data.byte_order,
        "header": {
            name: getattr(header, name, None)
            for name in ("hostname", "osrelease", "version", "arch", "nrcpus", "cpudesc", "cmdline")
        },
        "duration_s": (max(times) - min(times)) / 1e9 if len(times) else 0.0,
        "events": [
            {
                "name": event.name,
                "samples": count,
                "frequency" if event.freq else "period": event.sample_period,
                "stack_dump": event.sample_stack_user,
            }
            for event, count in zip(recording.events, _per_event(profile), strict=True)
        ],  # fmt: skip
        "records": records.counts,
        "lost": records.lost,
        "deferred_not_merged": profile.deferred,
        "processes": [
            {"pid": pid, "comm": profile.comms[comm] if comm != NONE else None, "samples": count}
            for (pid, comm), count in processes.most_common()
        ],
        "wholeness": {**asdict(whole), "share": whole.share},
        "missing": [
            {"name": image.name, "build_id": image.build_id, "problem": image.problem, "samples": frames.get(number, 0)}
            for number, image in sorted(enumerate(profile.images), key=lambda one: -frames.get(one[0], 0))
            if image.problem and frames.get(number, 0)
        ],
        "defects": [asdict(defect) for defect in recording.defects],
    }


def _per_event(profile: Profile) -> list[int]:
    counts = Counter(profile.samples.event)
    return [counts.get(number, 0) for number in range(len(profile.events))]


def _frames_by_image(profile: Profile) -> dict[int, int]:
    """Samples whose innermost frame or whose stack's end lies in each image."""
    frames, stacks, samples = profile.frames, profile.stacks, profile.samples
    counts: Counter[int] = Counter(samples.stop_image)
    for node, count in Counter(samples.stack).items():
        if node != NONE:
            counts[frames.image[stacks.frame[node]]] += count
    return dict(counts)


def write(found: dict[str, Any], sink: TextIO, options: InfoOptions) -> None:
    """Write what :func:`collect` found."""
    if options.json:
        json.dump(found, sink, indent=1)
        sink.write("\n")
        return
    lines = [f"{printable(found['file'])}  ({found['form']} form, {found['byte_order']}-endian)"]
    header = found["header"]
    for title, name in (("host", "hostname"), ("kernel", "osrelease"), ("perf", "version"), ("cpu", "cpudesc")):
        if header.get(name):
            lines.append(f"  {title:9} {printable(str(header[name]))}")
    if header.get("cmdline"):
        lines.append(f"  {'command':9} {printable(' '.join(header['cmdline']))}")
    lines.append(f"  {'duration':9} {found['duration_s']:.3f} s")
    lines.append("")
    lines.append("events")
    for event in found["events"]:
        dump = f", {event['stack_dump']:,} bytes of stack" if event["stack_dump"] else ""
        rate = f"{event['frequency']} Hz" if "frequency" in event else f"every {event['period']}"
        lines.append(f"  {event['samples']:>10,}  {printable(event['name'])}  ({rate}{dump})")
    if found["lost"]:
        lines.append(f"  {found['lost']:>10,}  lost: stacks and mappings may be missing")
    lines.append("")
    whole = found["wholeness"]
    lines.append(
        f"stacks    {100 * whole['share']:.2f} % whole: {whole['whole']:,} of {whole['unwound']:,} user stacks reach their root"
    )
    if whole["without_user"]:
        lines.append(f"          {whole['without_user']:,} samples have no user part (kernel threads, idle)")
    if found["deferred_not_merged"]:
        lines.append(f"          {found['deferred_not_merged']:,} samples wait for a deferred user chain")
    gaps = whole["gaps"]
    if gaps:
        lines.append("why not")
    said: set[str] = set()
    for gap in gaps[: options.gaps]:
        share = 100 * gap["samples"] / max(1, whole["unwound"])
        lines.append(f"  {gap['samples']:>10,} {share:6.2f} %  {gap['description']}, in {printable(gap['image'])}")
        if gap["advice"] and gap["advice"] not in said:
            said.add(gap["advice"])
            lines.append(f"  {'':10} {'':8}  → {printable(gap['advice'])}")
    if len(gaps) > options.gaps:
        rest = sum(gap["samples"] for gap in gaps[options.gaps :])
        lines.append(f"  {rest:>10,}           in {len(gaps) - options.gaps} further places (--json lists all)")
    if found["missing"]:
        lines.append("")
        lines.append("files that could not be used")
        for one in found["missing"][: options.gaps]:
            build = f"  build-id {one['build_id']}" if one["build_id"] else ""
            lines.append(f"  {one['samples']:>10,}  {printable(one['name'])}: {printable(one['problem'])}{build}")
    lines.append("")
    lines.append("processes")
    for process in found["processes"][: options.gaps]:
        comm = printable(process["comm"]) if process["comm"] is not None else "[unknown]"
        lines.append(f"  {process['samples']:>10,}  {process['pid']:>7} {comm}")
    if len(found["processes"]) > options.gaps:
        lines.append(f"  {'':10}  and {len(found['processes']) - options.gaps:,} more")
    lines.append("")
    lines.append("records   " + ", ".join(f"{count:,} {name}" for name, count in sorted(found["records"].items())))
    if found["defects"]:
        lines.append("damage")
        lines.extend(
            f"  {defect['count']:>10,}  {printable(defect['kind'])}: {printable(defect['subject'])} {printable(defect['detail'])}"
            for defect in found["defects"]
        )
    sink.write("\n".join(lines) + "\n")
