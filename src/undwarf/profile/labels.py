"""Labels of images and functions: short names of images, names of functions without a symbol."""

from typing import NamedTuple, Protocol

UNKNOWN = "[unknown]"
KERNEL_KINDS = frozenset({"KERNEL", "MODULE", "BPF"})


class HasName(Protocol):
    """An image by its name as recorded and its kind, the name of an ImageKind in either case."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Named(NamedTuple):
    """The least that has a name."""

    name: str
    kind: str


_WITHOUT_FILE = ("//anon", "/anon_hugepage", "/dev/zero", "[stack", "[heap]", "/SYSV")


def kind_of(image: HasName) -> str:
    """FILE, KERNEL, MODULE, VDSO, BPF, ANON, JIT or UNKNOWN."""
    return image.kind.upper()


def is_kernel(image: HasName) -> bool:
    """Whether the image is kernel code."""
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
    """Whether the image is code in memory without a file, which perf names after `/tmp/perf-PID.map` (`map__new`)."""
    return kind_of(image) == "ANON" and image.name.startswith(_WITHOUT_FILE)


def short_dso(image: HasName) -> str:
    """The last part of a path; bracketed names stay whole."""
    name = dso(image)
    return name if name.startswith(("[", "//")) else name.rsplit("/", 1)[-1] or name


def function_label(name: str, image: HasName | None) -> str:
    """A function's name, or ``[file]`` if it has none, as in flame-graph tools."""
    if name and name != UNKNOWN:
        return name
    if image is None:
        return UNKNOWN
    label = short_dso(image)
    return label if label.startswith("[") else f"[{label}]"
