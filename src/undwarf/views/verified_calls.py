"""How much of a profile's call stacks the code proves, permits or contradicts, in all, by image and by provenance."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.profile.call_proof import CallPair, Verdict
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, Profile
from undwarf.unwind.provenance import Provenance


class Tally(NamedTuple):
    """Calls in sampled stacks by verdict: each stack counts each of its callers. ``consistent`` are possible,
    ``unchecked`` those whose code was not read."""

    proven: int = 0
    consistent: int = 0
    contradicted: int = 0
    unchecked: int = 0

    def plus(self, verdict: Verdict, calls: int) -> "Tally":
        """With so many more calls of one verdict."""
        counts = list(self)
        counts[verdict] += calls
        return Tally(*counts)

    @property
    def checked(self) -> int:
        """Calls whose code was read."""
        return self.proven + self.consistent + self.contradicted


class Contradiction(NamedTuple):
    """A caller and a callee that the code contradicts. Addresses are the ones looked up: a return address less one."""

    calls: int
    caller: str
    caller_image: str
    caller_address: int
    callee: str
    callee_image: str
    callee_address: int
    provenance: str
    reason: str


class VerifiedCalls(NamedTuple):
    """Callers checked against the code: distinct ``pairs`` and ``calls`` by verdict; calls by image of the caller and
    by how the caller was found; ``contradictions``, those of most calls first; what the others rest on by
    ``reasons``."""

    pairs: Tally
    calls: Tally
    images: dict[str, Tally]
    provenances: dict[str, Tally]
    reasons: dict[str, int]
    contradictions: list[Contradiction]


def verified_calls(profile: Profile, checked: Sequence[CallPair]) -> VerifiedCalls:
    """Sum up the pairs of :func:`undwarf.profile.call_proof.check_calls`."""
    pairs = calls = Tally()
    images: dict[str, Tally] = {}
    provenances: dict[str, Tally] = {}
    reasons: dict[str, int] = {}
    for pair in checked:
        number = profile.frames.image[pair.caller]
        image = dso(profile.images[number]) if number != NONE else UNKNOWN
        provenance = Provenance(profile.frames.provenance[pair.caller]).name.lower()
        pairs = pairs.plus(pair.verdict, 1)
        calls = calls.plus(pair.verdict, pair.calls)
        images[image] = images.get(image, Tally()).plus(pair.verdict, pair.calls)
        provenances[provenance] = provenances.get(provenance, Tally()).plus(pair.verdict, pair.calls)
        reasons[pair.reason] = reasons.get(pair.reason, 0) + pair.calls
    contradicted = (pair for pair in checked if pair.verdict is Verdict.CONTRADICTED)
    return VerifiedCalls(
        pairs,
        calls,
        _largest_first(images),
        _largest_first(provenances),
        dict(sorted(reasons.items(), key=lambda one: -one[1])),
        [_contradiction(profile, pair) for pair in sorted(contradicted, key=lambda pair: -pair.calls)],
    )


def _largest_first(tallies: dict[str, Tally]) -> dict[str, Tally]:
    return dict(sorted(tallies.items(), key=lambda one: (-one[1].contradicted, -sum(one[1]), one[0])))


def _contradiction(profile: Profile, pair: CallPair) -> Contradiction:
    caller, callee = profile.frame(pair.caller), profile.frame(pair.callee)
    image_of = profile.frames.image
    caller_image, callee_image = (
        dso(profile.images[image_of[frame]]) if image_of[frame] != NONE else UNKNOWN
        for frame in (pair.caller, pair.callee)
    )
    return Contradiction(
        pair.calls,
        caller.name,
        caller_image,
        caller.address.lookup,
        callee.name,
        callee_image,
        callee.address.lookup,
        Provenance(caller.provenance).name.lower(),
        pair.reason,
    )
