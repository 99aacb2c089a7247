"""`undwarf top`: samples are unwound as they arrive and summed up, with one profile for each refresh."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from undwarf.column import zeros
from undwarf.live.sampling.ring import Weights
from undwarf.live.sampling.sampler import Sampler
from undwarf.perfdata import Features
from undwarf.profile.build import frame_pids
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.stacks import remap


@dataclass(slots=True)
class Picture:
    """What was sampled since the last one: the profile's samples are sums, ``counts`` (I) says of how many each."""

    profile: Profile
    counts: memoryview
    samples: int
    seconds: float
    lost: int
    rounds: int


class Top:
    """Sums samples; ``show`` gets a picture every ``interval`` seconds, and stops it all by giving False."""

    def __init__(
        self, sampler: Sampler, interval: float, show: Callable[[Picture], bool], clock: Callable[[], float]
    ) -> None:
        features = Features()
        features.osrelease = os.uname().release
        self._sampler = sampler
        self._unwinder = sampler.unwinder(features, runtime=False)
        self._unwinder.renewed.append(self._renew)
        self._weights = Weights()
        self._resolver = Resolver(self._unwinder.store)
        self._interval = interval
        self._show = show
        self._clock = clock
        self._since = clock()
        self._rounds = 0
        self._begun = self._over = False

    def run(self) -> None:
        """Sample until it is over; what came since the last picture makes one more."""
        before = self._sampler.tick

        def tick() -> None:
            before()
            if self._begun and not self._weights.used and self._clock() - self._since >= self._interval:
                # Nothing runs: that is a picture too.
                self._picture()

        self._sampler.tick = tick
        self._sampler.run(self._begin, self._take)
        if self._weights.used and not self._over:
            self._picture()

    def _begin(self, records: bytes) -> None:
        self._unwinder.unwind([memoryview(records)])
        self._since = self._clock()
        self._begun = True

    def _renew(self) -> None:
        # The nodes mean nothing any more; what they weighed is shown first.
        if self._weights.used:
            self._picture()

    def _take(self, views: list[memoryview]) -> None:
        done = self._unwinder.unwind(views)
        samples = done.samples
        self._weights.add(done.stack, done.comm, samples.event, samples.period, done.stop, done.everything)
        self._sampler.summary.samples += len(samples)
        done.spans.clear()
        self._rounds += 1
        if self._clock() - self._since >= self._interval:
            self._picture()

    def _picture(self) -> None:
        now = self._clock()
        profile, counts = self._profile()
        lost = self._unwinder.decoder.sideband.lost
        picture = Picture(profile, counts, sum(counts), now - self._since, lost, self._rounds)
        self._weights.clear()
        self._since, self._rounds = now, 0
        if not self._show(picture):
            self._over = self._sampler.stopped = True

    def _profile(self) -> tuple[Profile, memoryview]:
        unwinder = self._unwinder
        columns: dict[str, Any] = dict(unwinder.stacks)
        sums = self._weights.columns()
        keys = unwinder.keys
        number_of = zeros("I", len(keys) + 1)
        for i, key in enumerate(keys):
            number_of[i] = unwinder.store.image(key).number
        images = zeros("I", len(columns["image"]))
        images[:] = columns["image"]
        pids = frame_pids(images, self._unwinder.replay.key_pids())
        remap(images, 0, len(images), number_of)
        self._resolver.forget_changed_maps()
        named = self._resolver.resolve(images, columns["address"], pids)
        frames = FrameColumns(
            images,
            columns["address"],
            columns["provenance"],
            named.number,
            None,
            zeros("B", len(images)),
        )
        comms = [name.decode("utf-8", "replace") for name in unwinder.names]
        idle = len(comms)
        comm = zeros("I", len(sums["comm"]))
        for i, number in enumerate(sums["comm"]):
            comm[i] = number if number != NONE else idle
        count = len(sums["node"])
        nothing = zeros("Q", count)
        none, missing = zeros("i", count), zeros("I", count)
        remap(missing, 0, 0, number_of)
        samples = SampleColumns(
            time=nothing,
            pid=none,
            tid=none,
            cpu=none,
            event=_shorts(sums["event"]),
            period=sums["weight"],
            comm=comm,
            stack=sums["node"],
            stop=sums["stop"],
            stop_image=missing,
            ip=nothing,
        )
        profile = Profile(
            samples,
            StackColumns(columns["parent"], columns["frame"]),
            frames,
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


def _shorts(column: memoryview) -> memoryview:
    found = zeros("H", len(column))
    for i, number in enumerate(column):
        found[i] = number
    return found
