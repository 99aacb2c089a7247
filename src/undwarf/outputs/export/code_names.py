"""What export formats say about code: escaped names, functions with their source file, kinds of images."""

from typing import NamedTuple

from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs, without_none
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, Column, Profile


class CodeNames(NamedTuple):
    """Names without control characters: ``functions`` by function, ``images`` by image and one more for code without
    one, ``files`` by source file and one more, empty, for none."""

    functions: list[str]
    images: list[str]
    files: list[str]


def code_names(profile: Profile) -> CodeNames:
    """The escaped names of a profile."""
    return CodeNames(
        [printable(name) or UNKNOWN for name in profile.functions.name],
        [*(printable(dso(image)) or UNKNOWN for image in profile.images), UNKNOWN],
        [*map(printable, profile.files), ""],
    )


class FunctionFiles(NamedTuple):
    """Functions with the source file of their frames: ``of_frame`` (I) is an index of ``function`` and ``file`` (I),
    which are indices of the profile's functions and of ``CodeNames.files``."""

    of_frame: Column
    function: Column
    file: Column


def function_files(profile: Profile) -> FunctionFiles:
    """The distinct pairs of function and source file of a profile's frames."""
    frames = profile.frames
    pairs = Pairs()
    if frames.file is None:
        column = memoryview(bytes(4 * len(frames))).cast("I")
        of_frame = pairs.column(frames.function, column)
        return FunctionFiles(of_frame, pairs.high(), memoryview(bytes(4 * len(pairs))).cast("I"))
    of_frame = pairs.column(frames.function, without_none(frames.file, len(profile.files)))
    return FunctionFiles(of_frame, pairs.high(), pairs.low())


def image_of(profile: Profile, frame: int) -> int:
    """The index of a frame's image in ``CodeNames.images``."""
    image: int = profile.frames.image[frame]
    return image if image != NONE else len(profile.images)
