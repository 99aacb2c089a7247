"""undwarf turns raw Linux profiles into whole, named stacks.

>>> import undwarf
>>> with undwarf.open("perf.data") as recording:          # doctest: +SKIP
...     profile = recording.profile()
...     for sample in profile.samples[:3]:
...         print(sample.comm, [frame.name for frame in sample.stack])
"""

from importlib import import_module

# The module of this name takes longer to import than all of ours: a program that is interrupted meanwhile shows where.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undwarf.api import Profile, Recording, accesses
    from undwarf.api import open_recording as open
    from undwarf.defects import Defect, Defects
    from undwarf.errors import ElfError, NothingUsable, UndwarfError, UnreadableInput, UsageError
    from undwarf.limits import Limits
    from undwarf.mapped_files import handle_truncation
    from undwarf.profile.filters import Filters
    from undwarf.profile.model import Frame, Sample
    from undwarf.tables.model import Rule, UnwindTable
    from undwarf.types.access import Access
    from undwarf.unwind.provenance import Provenance
    from undwarf.unwind.stop_reason import StopReason
    from undwarf.views.call_tree import CallTree, TreeNode
    from undwarf.views.data.types import DataTypes, FieldRow, TypeRow

__version__ = "0.1.0"

_HOMES = {
    "Access": "types.access",
    "CallTree": "views.call_tree",
    "DataTypes": "views.data.types",
    "Defect": "defects",
    "Defects": "defects",
    "ElfError": "errors",
    "FieldRow": "views.data.types",
    "Filters": "profile.filters",
    "Frame": "profile.model",
    "Limits": "limits",
    "NothingUsable": "errors",
    "Profile": "api",
    "Provenance": "unwind.provenance",
    "Recording": "api",
    "Rule": "tables.model",
    "Sample": "profile.model",
    "StopReason": "unwind.stop_reason",
    "TreeNode": "views.call_tree",
    "TypeRow": "views.data.types",
    "UndwarfError": "errors",
    "UnreadableInput": "errors",
    "UnwindTable": "tables.model",
    "UsageError": "errors",
    "Mapping": "library.mapping",
    "Symbolizer": "library.symbolizer",
    "Unwinder": "library.unwinder",
    "UnwoundFrame": "library.unwinder",
    "accesses": "api",
    "handle_truncation": "mapped_files",
    "open": "api",
}

__all__ = [
    "Access",
    "CallTree",
    "DataTypes",
    "Defect",
    "Defects",
    "ElfError",
    "FieldRow",
    "Filters",
    "Frame",
    "Limits",
    "NothingUsable",
    "Profile",
    "Provenance",
    "Recording",
    "Rule",
    "Sample",
    "StopReason",
    "TreeNode",
    "TypeRow",
    "UndwarfError",
    "UnreadableInput",
    "UnwindTable",
    "UsageError",
    "accesses",
    "handle_truncation",
    "open",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> "Any":
    """Import a public name at its first use, so that ``import undwarf`` costs next to nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), "open_recording" if name == "open" else name)
    globals()[name] = value
    return value
