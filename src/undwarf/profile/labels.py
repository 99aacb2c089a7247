"""Labels of images and functions in reports: short image names, names for functions without a symbol."""

from typing import Protocol

UNKNOWN = "[unknown]"
KERNEL_KINDS = frozenset({"KERNEL", "MODULE", "BPF"})


class HasName(Protocol):
    """An image as the profile describes it: the name as recorded and what kind of image it is."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


_WITHOUT_FILE = ("//anon", "/anon_hugepage", "/dev/zero", "[stack", "[heap]", "/SYSV")


def kind_of(image: HasName) -> str:
    """FILE, KERNEL, MODULE, VDSO, BPF, ANON, JIT or UNKNOWN, whether the profile keeps a string or an enumeration."""
    kind = image.kind
    return str(getattr(kind, "name", kind)).upper()


def is_kernel(image: HasName) -> bool:
    """Whether code of this image runs in the kernel."""
    return kind_of(image) in KERNEL_KINDS


def dso(image: HasName) -> str:
    """The image as perf prints it in stacks: its path, ``[kernel.kallsyms]``, ``[module]`` or ``[unknown]``."""
    name = image.name
    kind = kind_of(image)
    if kind == "KERNEL":
        return "[kernel.kallsyms]"
    if kind == "MODULE" and not name.startswith("["):
        base = name.rsplit("/", 1)[-1]
        for ending in (".xz", ".gz", ".zst", ".ko"):
            base = base.removesuffix(ending)
        return f"[{base.replace('-', '_')}]"
    return name or UNKNOWN


def is_made_at_run_time(image: HasName) -> bool:
    """Whether code of this image is in memory without a file: perf names it by the process's `/tmp/perf-PID.map`, there
    or not (perf, `map__new`)."""
    return kind_of(image) == "ANON" and image.name.startswith(_WITHOUT_FILE)


def short_dso(image: HasName) -> str:
    """The last part of a path; bracketed names stay whole."""
    name = dso(image)
    return name if name.startswith(("[", "//")) else name.rsplit("/", 1)[-1] or name


def function_label(name: str, image: HasName | None) -> str:
    """A function's name, or ``[file]`` when it has none, as flame-graph tools show it."""
    if name and name != UNKNOWN:
        return name
    if image is None:
        return UNKNOWN
    label = short_dso(image)
    return label if label.startswith("[") else f"[{label}]"
