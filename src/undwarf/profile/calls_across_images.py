"""Calls that may enter a function, in all images of a process: found once for all processes that import it alike."""

from collections.abc import Callable, Container

from undwarf.images import Image
from undwarf.profile.code_references import CodeReferences, EnteringCalls, sorted_calls

Importers = tuple[tuple[Image, CodeReferences], ...]
Parts = list[tuple[EnteringCalls, bool]]
"""Calls, and whether they are of the function itself, not of another one that jumps to it."""


class CallsAcrossImages:
    """Answers for sets of images in a fixed order, which decides between equals; ``references_of`` gives what refers to
    an image's functions."""

    def __init__(self, references_of: Callable[[Image], CodeReferences | None]) -> None:
        self._references_of = references_of
        self._sets: dict[tuple[Image, ...], tuple[Image, ...]] = {}
        self._imports: dict[Image, _Imports] = {}
        self._importers: dict[tuple[Image, int], Importers] = {}
        self._known: dict[tuple[object, ...], dict[Image, EnteringCalls]] = {}
        self._merged: dict[tuple[tuple[int, bool], ...], EnteringCalls] = {}

    def calls_to(self, image: Image, address: int, others: tuple[Image, ...]) -> dict[Image, EnteringCalls]:
        """By image the calls that may enter the function at an address, in its image, the first one, and ``others``;
        the same object for the same calls."""
        references = self._references_of(image)
        start = references.start_of(address) if references is not None else None
        if references is None or start is None:
            return {}
        imports = self._imports.get(image)
        if imports is None:
            imports = self._imports[image] = _Imports(image, references)
        if not imports.asked.issuperset(others):
            imports.ask(others, self._references_of)
        # A resolver may choose a function that has its address taken.
        importing = imports.importing if references.takers(start) else imports.by_start.get(start, ())
        key: tuple[object, ...] = (image, start)
        if importing:
            others = self._sets.setdefault(others, others)
            key += self._key(references, start, tuple([one for one in others if one in importing]), others)
        if key not in self._known:
            self._known[key] = self._find(image, references, start, importing, others)
        return self._known[key]

    def _key(
        self, callees: CodeReferences, start: int, importing: tuple[Image, ...], others: tuple[Image, ...]
    ) -> tuple[object, ...]:
        """What the calls depend on: the images that import the function, and those that may call what jumps to it."""
        key: list[object] = list(importing)
        for one in importing:
            references = self._references_of(one)
            if references is not None and references.imports_of(callees, start)[1]:
                key.append(self._importers_of(one, others))
        return tuple(key)

    def _importers_of(self, image: Image, others: tuple[Image, ...]) -> Importers:
        """Those of some images, the same object for the same ones, that import functions of an image."""
        key = image, id(others)
        found = self._importers.get(key)
        if found is None:
            references = self._references_of(image)
            every = [(one, self._references_of(one)) for one in others if one is not image]
            found = self._importers[key] = tuple(
                [
                    (one, importing)
                    for one, importing in every
                    if importing is not None and references is not None and importing.imports_any_of(references)
                ]
            )
        return found

    def _find(
        self, image: Image, callees: CodeReferences, start: int, importing: Container[Image],
        others: tuple[Image, ...],
    ) -> dict[Image, EnteringCalls]:  # fmt: skip
        found: dict[Image, Parts] = {image: [(callees.calls_of(start), True)]}
        importers = self._importers_of(image, others) if importing else ()
        seen = 0
        for at, (other, references) in enumerate(importers):
            if other not in importing:
                continue
            calls, jumpers = references.imports_of(callees, start)
            found.setdefault(other, []).append((calls, True))
            if not jumpers:
                continue
            # As if the others had calls as well: the order decides between equals.
            for one, _references in importers[seen:at]:
                found.setdefault(one, [])
            seen = at
            found[other] += [(references.calls_of(jumper), False) for jumper in jumpers]
            # Others may call what jumps to the callee, as C++'s `operator delete` does to `free`.
            entries = {entry for jumper in jumpers for entry in (jumper, *references.jumping_to(jumper))}
            for further, calling in self._importers_of(other, others):
                found.setdefault(further, []).extend((calling.imports_of(references, one)[0], False) for one in entries)
        every = {one: [part for part in parts if part[0].direct] for one, parts in found.items()}
        return {one: self._merge(parts) for one, parts in every.items() if parts}

    def _merge(self, parts: Parts) -> EnteringCalls:
        """The calls of all parts, direct ones if they are in a part of the callee's own; the same object for the same
        parts, which are kept elsewhere."""
        if len(parts) == 1 and parts[0][1]:
            return parts[0][0]
        key = tuple([(id(calls), is_own) for calls, is_own in parts])
        if key not in self._merged:
            found: dict[int, bool] = {}
            for calls, is_own in parts:
                for back, direct in zip(calls.return_addresses, calls.direct, strict=True):
                    found[back] = found.get(back, False) or (is_own and direct)
            self._merged[key] = sorted_calls(found)
        return self._merged[key]


class _Imports:
    """The images that import functions of one, among those asked: all, and by the start of a function that they
    import by name."""

    def __init__(self, image: Image, references: CodeReferences) -> None:
        self._image = image
        self._references = references
        self.asked: set[Image] = set()
        self.importing: set[Image] = set()
        self.by_start: dict[int, set[Image]] = {}

    def ask(self, others: tuple[Image, ...], references_of: Callable[[Image], CodeReferences | None]) -> None:
        """Take further images into account."""
        for other in set(others) - self.asked:
            references = references_of(other) if other is not self._image else None
            if references is not None and references.imports_any_of(self._references):
                self.importing.add(other)
                for start in references.imports_from(self._references):
                    self.by_start.setdefault(start, set()).add(other)
        self.asked.update(others)
