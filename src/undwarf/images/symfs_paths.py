"""Resolves paths of a recording inside the root that the user chose."""

import os

MAX_LINKS = 40
"""Symbolic links followed for one path, as the kernel's limit."""


def usable(path: str) -> bool:
    """Whether a recorded name can be a file's path: absolute, and without NUL."""
    return path.startswith("/") and "\0" not in path and len(path) < 4096


def confined(root: str, path: str) -> str | None:
    """The path of an absolute ``path`` below ``root``, as after chroot(2); None if it does not exist.

    Absolute symbolic links start at ``root`` again, and ``..`` never leaves it.
    """
    rest = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    done: list[str] = []
    links = 0
    while rest:
        part = rest.pop()
        if part == "..":
            if done:
                done.pop()
            continue
        here = os.path.join(root, *done, part)
        try:
            target = os.readlink(here)
        except OSError:
            # Not a link, or it does not exist; the caller's stat decides.
            done.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        if target.startswith("/"):
            done.clear()
        rest.extend(step for step in reversed(target.split("/")) if step not in ("", "."))
    found = os.path.join(root, *done)
    return found if os.path.lexists(found) else None
