"""`undwarf top`: samples are unwound as they arrive and summed up; each refresh shows them as a profile."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from undwarf.column import copied, zeros
from undwarf.live.sampling.ring import Weights
from undwarf.live.sampling.sampler import Sampler
from undwarf.perfdata import Features
from undwarf.profile.build import frame_pids, store_numbers, with_lines
from undwarf.profile.grouping import without_none
from undwarf.profile.model import (
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.symbols.inlines import ImageLines
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.stacks import remap

if TYPE_CHECKING:
    from undwarf.views.function_code import Disassembly


@dataclass(slots=True)
class Picture:
    """What was sampled since the last refresh: the profile's samples are sums, ``counts`` (I) the samples in each."""

    profile: Profile
    counts: memoryview
    samples: int
    seconds: float
    lost: int
    rounds: int


class Top:
    """Sums samples and calls ``show`` every ``interval`` seconds; sampling ends when that returns False."""

    def __init__(
        self, sampler: Sampler, interval: float, show: Callable[[Picture], bool], clock: Callable[[], float]
    ) -> None:
        features = Features()
        features.osrelease = os.uname().release
        self._sampler = sampler
        self._unwinder = sampler.unwinder(features, runtime=False)
        self._unwinder.renewed.append(self._show_before_reset)
        self._weights = Weights()
        self._resolver = Resolver(self._unwinder.store)
        self._interval = interval
        self._show = show
        self._clock = clock
        self._since = clock()
        self._rounds = 0
        self._started = self._over = False

    def run(self) -> None:
        """Sample until the end; samples since the last refresh are shown in a final one."""
        before = self._sampler.tick

        def tick() -> None:
            before()
            if self._started and not self._weights.used and self._clock() - self._since >= self._interval:
                # Idle targets are refreshed too.
                self._refresh()

        self._sampler.tick = tick
        self._sampler.run(self._begin, self._take)
        if self._weights.used and not self._over:
            self._refresh()

    def with_lines(self, profile: Profile) -> Profile:
        """A picture's profile with source lines, and with inlined functions as frames of their own."""
        return with_lines(profile, self._unwinder.store, self._lines)

    @cached_property
    def _lines(self) -> ImageLines:
        return ImageLines(self._unwinder.store)

    def disassembly(self) -> "Disassembly":
        """Disassembles functions of pictures' profiles."""
        from undwarf.views.function_code import Disassembly

        return Disassembly(self._unwinder.store.images.__getitem__, self._lines)

    def _begin(self, records: bytes) -> None:
        self._unwinder.unwind([memoryview(records)])
        self._since = self._clock()
        self._started = True

    def _show_before_reset(self) -> None:
        """The stack nodes of these sums are about to be dropped."""
        if self._weights.used:
            self._refresh()

    def _take(self, views: list[memoryview]) -> None:
        done = self._unwinder.unwind(views)
        samples = done.samples
        self._weights.add(done.stack, done.comm, samples.event, samples.period, done.stop, done.everything)
        self._sampler.summary.samples += len(samples)
        done.spans.clear()
        self._rounds += 1
        if self._clock() - self._since >= self._interval:
            self._refresh()

    def _refresh(self) -> None:
        now = self._clock()
        profile, counts = self._profile()
        lost = self._unwinder.decoder.sideband.lost
        picture = Picture(profile, counts, sum(counts), now - self._since, lost, self._rounds)
        self._weights.clear()
        self._since, self._rounds = now, 0
        if not self._show(picture):
            self._over = self._sampler.stopped = True

    def _profile(self) -> tuple[Profile, memoryview]:
        """The profile of the sums, and the number of samples in each. Times, threads and CPUs are zeros."""
        unwinder = self._unwinder
        columns: dict[str, Any] = dict(unwinder.stacks)
        sums = self._weights.columns()
        images = copied(columns["image"], len(columns["image"]))
        pids = frame_pids(images, unwinder.replay.key_pids())
        remap(images, 0, len(images), store_numbers(unwinder.replay, unwinder.store))
        self._resolver.forget_changed_maps()
        named = self._resolver.resolve(images, columns["address"], pids)
        comms = [name.decode("utf-8", "replace") for name in unwinder.names]
        count = len(sums["node"])
        words, ints = zeros("Q", count), zeros("i", count)
        samples = SampleColumns(
            time=words,
            pid=ints,
            tid=ints,
            cpu=ints,
            event=sums["event"],
            period=sums["weight"],
            # Threads without a name are the idle task.
            comm=without_none(sums["comm"], len(comms)),
            stack=sums["node"],
            stop=sums["stop"],
            stop_image=zeros("I", count),
            ip=words,
        )
        profile = Profile(
            samples,
            StackColumns(columns["parent"], columns["frame"]),
            FrameColumns(
                images,
                columns["address"],
                columns["provenance"],
                named.number,
                None,
                zeros("B", len(images)),
                is_return=columns["is_return"],
            ),
            FunctionTable(named.name, named.image, named.address, named.unnamed),
            [
                ImageInfo(
                    image.name.decode("utf-8", "replace"), image.path, image.build_id.hex(), image.kind.name.lower()
                )
                for image in unwinder.store.images
            ],
            [*comms, "swapper"],
            [EventInfo(event.name) for event in self._sampler.events],
        )
        return profile, sums["count"]
