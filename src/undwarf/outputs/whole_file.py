"""Files that appear whole under their name, or not at all."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write, renamed to ``target`` when the with ends well; ``mode`` has its permissions, else those of any
    new file.

    A link stays, and the file it leads to is replaced. What is no regular file (a device, a pipe) is written to.
    Raises OSError.
    """
    if not replaceable(target):
        with target.open("wb") as sink:
            yield sink
        return
    target = target.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".undwarf-", suffix=target.suffix)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as sink:
            yield sink
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replaceable(target: Path) -> bool:
    """Whether another file may take the place of this one: there is none yet, or it is a regular one."""
    try:
        return stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return True
