"""undwarf turns raw Linux profiles into whole, named stacks.

`__init__.pyi` is the reference of all public names, docs/reference/api.md the same for readers.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Access": "types.access",
    "CallTree": "views.call_tree",
    "CodeAddress": "unwind.code_address",
    "CommRecord": "library.records",
    "Contradiction": "views.verified_calls",
    "Counts": "views.data.types",
    "DataTypes": "views.data.types",
    "Defect": "defects",
    "Defects": "defects",
    "ElfError": "errors",
    "Event": "library.records",
    "EventInfo": "profile.model",
    "ExitRecord": "library.records",
    "FieldRow": "views.data.types",
    "Filters": "profile.filters",
    "ForkRecord": "library.records",
    "Frame": "profile.model",
    "FrameColumns": "profile.model",
    "FunctionTable": "profile.model",
    "Header": "library.records",
    "ImageInfo": "profile.model",
    "InstructionRow": "views.data.types",
    "Limits": "limits",
    "LostRecord": "library.records",
    "Mapping": "library.mapping",
    "MemoryCounts": "views.data.memory_counts",
    "MmapRecord": "library.records",
    "NothingUsable": "errors",
    "Options": "library.options",
    "OtherRecord": "library.records",
    "Party": "views.data.false_sharing",
    "PerfDataWriter": "library.writer",
    "Process": "profile.processes",
    "Profile": "api",
    "ProfileFile": "library.profile_file",
    "ProfileOptions": "library.options",
    "Provenance": "unwind.provenance",
    "Recording": "library.recording",
    "Rows": "profile.rows",
    "Rule": "tables.model",
    "Sample": "profile.model",
    "SampleColumns": "profile.model",
    "SampleRecord": "library.records",
    "SampleView": "profile.model",
    "Sharing": "views.data.false_sharing",
    "Shrunk": "library.recording",
    "SourceFrame": "library.symbolizer",
    "StackColumns": "profile.model",
    "StopReason": "unwind.stop_reason",
    "Symbolized": "library.symbolizer",
    "Symbolizer": "library.symbolizer",
    "Table": "arrow.table",
    "Tally": "views.verified_calls",
    "TreeNode": "views.call_tree",
    "TypeEvidence": "types.access",
    "TypeResolver": "library.type_resolver",
    "TypeRow": "views.data.types",
    "UndwarfError": "errors",
    "UnreadableInput": "errors",
    "UnwindTable": "library.unwind_table",
    "Unwinder": "library.unwinder",
    "UnwoundFrame": "library.unwinder",
    "UnwoundStack": "library.unwinder",
    "UsageError": "errors",
    "VerifiedCalls": "views.verified_calls",
    "accesses": "library.type_resolver",
    "demangle": "symbols.demangle",
    "handle_truncation": "mapped_files",
    "open": "library.recording",
}
"""The module of each public name."""

__all__ = [*_HOMES]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name at its first use, so that ``import undwarf`` costs next to nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), "open_for_programs" if name == "open" else name)
    globals()[name] = value
    return value
