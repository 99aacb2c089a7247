"""How many stacks are whole, why the others are not, and what would help."""

from collections.abc import Iterable
from typing import NamedTuple

from undwarf.elf.headers import NOT_ELF
from undwarf.profile.grouping import Pairs, sums, widen, without_none
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, ImageInfo, Profile
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import DESCRIPTIONS, WHOLE, StopReason
from undwarf.views.sample_selection import samples_passing

LARGEST_DUMP = 65528
"""The most that perf record accepts: a 16-bit size, in steps of 8 (tools/perf/util/evsel.c)."""

DEFAULT_DUMP = 8192

_GENERATED = ("anon", "jit", "jitdump")
"""Kinds of images whose code was generated at run time."""


_NO_GAPS = (StopReason.INFERRED_ROOT, StopReason.NONE, StopReason.NO_DUMP, StopReason.UNSTATED)
"""Reasons that say nothing of missing callers."""
PROBED_ADVICE = (
    "the kernel alone knows the address: record while no return probe (uretprobe) is enabled there; where code keeps "
    "frame pointers, --call-graph fp has it from Linux 6.11 on"
)


class Gap(NamedTuple):
    """Samples whose stacks end early for one reason in one image; ``advice`` is empty if nothing would help."""

    reason: str
    description: str
    image: str
    build_id: str
    samples: int
    advice: str


class UnwindQuality(NamedTuple):
    """Of ``samples``, ``unwound`` had a user part to unwind, and ``whole`` of these reach the root of the stack: a
    thread's, a fiber's or that of an alternate signal stack (``reasons`` counts the stop reasons).

    ``without_user`` have no user part (kernel threads, the idle task, registers not recorded), ``as_recorded`` only the
    kernel's frame-pointer chain, which may be incomplete, ``without_chain`` not even that: their event has no call
    chains. ``gaps``: where the stacks end that are not whole, largest first.
    """

    samples: int
    unwound: int
    whole: int
    without_user: int
    as_recorded: int
    without_chain: int
    reasons: dict[str, int]
    gaps: list[Gap]
    inferred: int = 0
    """Stacks that reach the root with callers from another dump of their thread; ``unwound``, but not ``whole``."""
    copied_code: int = 0
    """Samples with frames in code that a program copied to anonymous memory, found by the file that it is from."""
    unstated: int = 0
    """Stacks of a profile of another tool, which does not say if they are whole."""

    @property
    def share(self) -> float:
        """Whole stacks among those that were unwound, 0 to 1; 1 without any."""
        return self.whole / self.unwound if self.unwound else 1.0


HASKELL_RESERVED = 16440
"""Bytes between Haskell code and its scheduler: smaller dumps do not reach the scheduler."""


def larger_dump(dump: int) -> int:
    """The next size of stack dump to try, in bytes; 0 if there is none."""
    if dump >= LARGEST_DUMP - 8:
        return 0
    return min(LARGEST_DUMP, max(2 * DEFAULT_DUMP, 2 * dump))


def advice(
    reason: StopReason,
    image: ImageInfo | None,
    dump: int,
    order: tuple[str, ...] = (),
    *,
    stitched: bool = False,
    images: Iterable[ImageInfo] = (),
    recorder: str = "perf",
    followed: bool = False,
) -> str:
    """What to do about a gap; empty if nothing would help.

    ``dump``: the largest recorded stack dump, in bytes; 0 for none. ``order``: the kinds of unwind information that
    were allowed; empty for all. ``stitched``: the recording has unwound chains instead of stack dumps. ``images``: all
    of the recording. ``recorder``: "perf" or "undwarf". ``followed``: other stacks continue from this image's code by
    the frame pointer.
    """
    if reason is StopReason.TRUNCATED or (reason is StopReason.HASKELL_STACK and 0 < dump <= HASKELL_RESERVED):
        if not dump:
            return ""
        larger = larger_dump(dump)
        if not larger:
            return f"no larger dump than {LARGEST_DUMP} bytes can be recorded"
        if recorder == "undwarf":
            mode = "" if stitched else "--unwind dump "
            return f"record with a larger stack dump: undwarf record {mode}--stack-size {larger}"
        return f"record with a larger stack dump: perf record --call-graph dwarf,{larger}"
    if reason is StopReason.ABSENT_PAGE:
        if stitched:
            return ""
        return (
            "no larger dump helps, since the kernel copies no such page: undwarf record, without --unwind, reads them"
        )
    if reason is StopReason.NO_FILE:
        if stitched:
            return "the stacks were unwound when they were recorded: record again where that file can be read"
        if image is not None and image.build_id:
            return f"provide the file with build-id {image.build_id}: under --symfs, or perf buildid-cache --add it"
        return "provide the file under --symfs"
    if reason in (StopReason.NO_RULE, StopReason.BAD_CFA, StopReason.UNMAPPED) and image is not None:
        if image.kind in _GENERATED:
            from undwarf.views.jit_runtimes import walking

            # Without its jitdump, code counts as anonymous memory.
            lost = [other.path for other in images if other.kind == "jitdump" and other.problem]
            dumps = lost if image.kind == "anon" else []
            return walking([other.path for other in images if other.kind == "file"], dumps, followed=followed)
        if image.problem == NOT_ELF:
            return "a program's own format has no unwind information that is known here; frame pointers are followed"
        if reason is StopReason.NO_RULE:
            return _without_rule(order, stitched)
    if reason is StopReason.OTHER_STACK and dump:
        again = "undwarf record --unwind fp" if recorder == "undwarf" else "perf record --call-graph fp"
        return f"where code keeps frame pointers, as Go's does, the kernel follows them to that stack: {again}"
    return {
        StopReason.DEPTH: "" if stitched else "raise --max-stack",
        # The kernel stops copying at the first page that was never touched.
        StopReason.HASKELL_STACK: ""
        if stitched
        else "no dump has untouched stack: undwarf record reads on in the process",
        StopReason.UNSUPPORTED: "only x86-64 and AArch64 processes of 64 bits are unwound so far",
        StopReason.UNKNOWN_REGISTER: "record more registers: perf record --user-regs" if dump else "",
        StopReason.PROBED_RETURN: PROBED_ADVICE,
        StopReason.UNPROVEN_STATE: "other events need no proof: perf record -e cycles, without :P",
        StopReason.DEFERRED: "the record with the user chain was lost, or the thread or the recording ended before it",
    }.get(reason, "")


def _without_rule(order: tuple[str, ...], stitched: bool) -> str:
    """How to get unwind information of the selected kinds."""
    again = "record again without --unwind" if stitched else "leave out --unwind"
    if "eh-frame" in order or "debug-frame" in order or not order:
        return (
            "no unwind information, and the code does not show the frame: provide its debug file; build C and C++ with "
            "-fasynchronous-unwind-tables, assembly with .cfi directives"
        )
    if "sframe" in order:
        # An option of the assembler (binutils 2.40), which compilers pass on.
        return f"no SFrame section covers it: build with -Wa,--gsframe, or {again}"
    return f"none of the chosen sources covers it ({', '.join(order)}): {again}"


def unwind_quality(profile: Profile, dump: int = DEFAULT_DUMP) -> UnwindQuality:
    """Count the stop reasons; ``dump`` is the largest stack dump that was requested, in bytes."""
    samples = profile.samples.columns
    pairs = Pairs()
    place = pairs.column(widen(samples.stop), samples.stop_image)
    counts = sums(place, samples.count, len(pairs))
    reasons: dict[StopReason, int] = {}
    gaps = []
    followed: set[int] | None = None
    for stop, number, count in zip(pairs.high(), pairs.low(), counts, strict=True):
        reason = StopReason(stop)
        reasons[reason] = reasons.get(reason, 0) + count
        if reason in WHOLE or reason in _NO_GAPS:
            continue
        image = profile.images[number] if number != NONE else None
        if image is not None and image.kind in _GENERATED and followed is None:
            followed = _followed(profile)
        gaps.append(
            Gap(
                reason.name.lower(),
                DESCRIPTIONS[reason],
                dso(image) if image is not None else UNKNOWN,
                image.build_id if image is not None else "",
                count,
                advice(
                    reason,
                    image,
                    dump,
                    profile.unwind_order,
                    stitched=profile.stitched,
                    images=profile.images,
                    recorder=profile.recorder,
                    followed=number in (followed or ()),
                ),
            )
        )
    gaps.sort(key=lambda gap: (-gap.samples, gap.reason, gap.image))
    without = reasons.get(StopReason.NONE, 0)
    recorded = reasons.get(StopReason.NO_DUMP, 0)
    alone = _without_chain(profile) if recorded else 0
    unstated = reasons.get(StopReason.UNSTATED, 0)
    return UnwindQuality(
        samples.total,
        samples.total - without - recorded - unstated,
        sum(reasons.get(reason, 0) for reason in WHOLE),
        without,
        recorded - alone,
        alone,
        {reason.name.lower(): count for reason, count in sorted(reasons.items())},
        gaps,
        reasons.get(StopReason.INFERRED_ROOT, 0),
        _in_copied_code(profile),
        unstated,
    )


def _in_copied_code(profile: Profile) -> int:
    """The number of samples with a frame in copied code."""
    provenance = bytes(profile.frames.provenance)
    if Provenance.MOVED_CODE not in provenance:
        return 0
    copied = {frame for frame, kind in enumerate(provenance) if kind == Provenance.MOVED_CODE}
    nodes: set[int] = set()
    # A caller's node comes before those of its callees.
    for node, (frame, parent) in enumerate(zip(profile.stacks.frame, profile.stacks.parent, strict=True)):
        if frame in copied or parent in nodes:
            nodes.add(node)
    columns = profile.samples.columns
    if columns.count is not None:
        return sum(count for node, count in zip(columns.stack, columns.count, strict=True) if node in nodes)
    return sum(node in nodes for node in columns.stack)


def _followed(profile: Profile) -> set[int]:
    """The images from whose code some stack continues to a caller by the frame pointer."""
    image_of, provenance = profile.frames.image, profile.frames.provenance
    frames = {
        frame for frame, parent in zip(profile.stacks.frame, profile.stacks.parent, strict=True) if parent != NONE
    }
    return {image_of[frame] for frame in frames if provenance[frame] == Provenance.FRAME_POINTER}


def _without_chain(profile: Profile) -> int:
    """The number of samples in user code with only their address: their event was recorded without call chains."""
    if all(event.chains for event in profile.events):
        return 0
    samples = profile.samples.columns
    pairs = Pairs()
    place = pairs.column(widen(samples.stop), widen(samples.event))
    counts = sums(place, samples.count, len(pairs))
    return sum(
        count
        for stop, event, count in zip(pairs.high(), pairs.low(), counts, strict=True)
        if stop == StopReason.NO_DUMP and event < len(profile.events) and not profile.events[event].chains
    )


class Missing(NamedTuple):
    """An image with a problem, and the number of samples with a frame in it."""

    name: str
    build_id: str
    kind: str
    problem: str
    samples: int


def missing(profile: Profile) -> list[Missing]:
    """Images with a problem, those in most stacks first; those in no stack are left out."""
    images = profile.images
    if not any(image.problem for image in images):
        return []
    missing_images = [
        Missing(dso(images[number]), images[number].build_id, images[number].kind, images[number].problem, samples)
        for number, samples in samples_passing(
            profile, without_none(profile.frames.image, len(images)), len(images)
        ).items()
        if images[number].problem
    ]
    return sorted(missing_images, key=lambda image: (-image.samples, image.name))
