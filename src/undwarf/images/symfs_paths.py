"""Paths that come from a recording: made absolute, and kept inside the root that the user chose."""

import os

MAX_LINKS = 40
"""Symbolic links followed for one path, as the kernel's limit."""


def usable(path: str) -> bool:
    """Whether a recorded name can be a file's path: absolute, and without NUL."""
    return path.startswith("/") and "\0" not in path and len(path) < 4096


def confined(root: str, path: str) -> str | None:
    """Where an absolute ``path`` lies when ``root`` is the root of the file system; None where it cannot.

    Symbolic links inside ``root`` are followed as a process changed into it would see them: absolute ones
    start at ``root`` again, and ``..`` never leaves it. What does not exist is None.
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
            # Not a link, or not there at all; the caller's stat tells which.
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
