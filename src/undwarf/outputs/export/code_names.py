"""What export formats say about code: escaped names, functions with their source file, kinds of images."""

from array import array
from typing import TYPE_CHECKING, NamedTuple

from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs, without_none
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, Column, Profile

if TYPE_CHECKING:
    from undwarf.views.export_tables import ExportTables


class CodeNames(NamedTuple):
    """Names without control characters: ``functions`` as in ExportTables, ``images`` by image and one more for code
    without one, ``files`` by source file and one more, empty, for none."""

    functions: list[str]
    images: list[str]
    files: list[str]


def code_names(tables: "ExportTables") -> CodeNames:
    """The escaped names of a profile."""
    return CodeNames(
        [printable(function.name) or UNKNOWN for function in tables.functions],
        [*(printable(dso(image)) or UNKNOWN for image in tables.profile.images), UNKNOWN],
        [*map(printable, tables.profile.files), ""],
    )


class FunctionFiles(NamedTuple):
    """Functions with the source file of their frames: ``of_frame`` (I) is an index of ``function`` and ``file`` (I),
    which are indices of ``CodeNames.functions`` and ``CodeNames.files``."""

    of_frame: Column
    function: Column
    file: Column


def function_files(tables: "ExportTables") -> FunctionFiles:
    """The distinct pairs of function and source file of the frames."""
    frames, none = tables.profile.frames, len(tables.profile.files)
    files = frames.file if frames.file is not None else memoryview(array("I", [NONE]) * len(frames))
    pairs = Pairs()
    of_frame = pairs.column(tables.function, without_none(files, none))
    return FunctionFiles(of_frame, pairs.high(), pairs.low())


def main_files(tables: "ExportTables") -> Column:
    """The first source file (I, NONE if unknown) that frames of each function name, for formats that have one."""
    found = array("I", [NONE]) * len(tables.functions)
    if tables.profile.frames.file is not None:
        for function, file in zip(tables.function, tables.profile.frames.file, strict=True):
            if found[function] == NONE:
                found[function] = file
    return memoryview(found)


def image_of(profile: Profile, frame: int) -> int:
    """The index of a frame's image in ``CodeNames.images``."""
    image: int = profile.frames.image[frame]
    return image if image != NONE else len(profile.images)
