"""A store: files at an fsspec address, which are written whole, and the commits that say which of them count.

A *commit* is a small JSON file that lists data files, and commits whose place it takes. What a store holds is what the
commits list that no other commit replaces; data files that none lists, as those of a killed run, are not there. Files
are named by a hash of their contents, so whoever writes one again writes the same one.

Locally a file is written under another name and renamed; elsewhere an object appears whole when its upload ends.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from undwarf.errors import UnreadableInput, UsageError
from undwarf.fleet.layout import COMMIT, FORMAT, TABLES, VERSION, Partition, partition_of
from undwarf.limits import DEFAULT, Limits

_DRAFT = ".draft-"
_TRIES = 5
"""Readings of the commits before giving up: whoever replaces one while it is read does so once."""
INSTALL = "pip install 'undwarf[fleet]'"


class DataFile(NamedTuple):
    """A file of a table: its path in the store, and how much it holds."""

    path: str
    rows: int
    size: int

    @property
    def partition(self) -> Partition:
        """The table, day and service."""
        return partition_of(self.path)


class Found(NamedTuple):
    """A file: its bytes, and how long ago it was written, in seconds."""

    size: int
    age: float


class Commit(NamedTuple):
    """Files that count from its appearance on, and names of commits that no longer do."""

    name: str
    files: tuple[DataFile, ...]
    replaces: frozenset[str] = frozenset()


class Contents:
    """What a store holds at one moment."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        known = {commit.name: commit for commit in commits}
        self.replaced_by = {name: commit.name for commit in known.values() for name in commit.replaces if name in known}
        """By the name of a commit that is still there, one that replaces it."""
        self.commits = [known[name] for name in sorted(known) if name not in self.replaced_by]
        self.listed = {file.path for commit in known.values() for file in commit.files}
        """Paths of all files that a commit lists, also a replaced one."""
        self.commit_of: dict[str, str] = {}
        """By path, the first commit that lists it."""
        files: dict[str, DataFile] = {}
        for commit in self.commits:
            for file in commit.files:
                files.setdefault(file.path, file)
                self.commit_of.setdefault(file.path, commit.name)
        self._files = [(files[path].partition, files[path]) for path in sorted(files)]

    def files(
        self, table: str, days: "tuple[str, str] | None" = None, services: Collection[str] | None = None
    ) -> list[DataFile]:
        """The files of a table, of these days (first and last, as in 2026-11-28) and services if given, by path."""
        return [
            file
            for where, file in self._files
            if where.table == table
            and (days is None or not where.day or days[0] <= where.day <= days[1])
            and (services is None or not where.day or where.service in services)
        ]

    @cached_property
    def partitions(self) -> dict[Partition, list[DataFile]]:
        """The files by partition, in their order."""
        found: dict[Partition, list[DataFile]] = {}
        for where, file in self._files:
            found.setdefault(where, []).append(file)
        return dict(sorted(found.items()))


class Store:
    """Files below a folder, or an address of fsspec such as ``s3://bucket/folder``. Raises UsageError if it cannot be
    used."""

    def __init__(self, address: str, limits: Limits = DEFAULT) -> None:
        self.address = address
        self.limits = limits
        self.is_local = "://" not in address or address.startswith("file://")
        self.files: Any = None
        """The file system of fsspec, None if it is this machine's."""
        if self.is_local:
            self.root = os.path.abspath(address.removeprefix("file://"))
            return
        try:
            import fsspec
        except ImportError:
            raise UsageError(f"{address} needs fsspec", "it is not installed", INSTALL) from None
        try:
            self.files, self.root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError, OSError) as error:
            raise UsageError(f"{address} is no store", str(error), "name a folder, or an address as s3://...") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.address, self.limits)

    def full(self, path: str) -> str:
        """A path in the store as its file system names it."""
        return f"{self.root}/{path}"

    def url(self, path: str) -> str:
        """A path in the store with what an engine needs to find the file system."""
        return self.full(path) if self.is_local else str(self.files.unstrip_protocol(self.full(path)))

    def open(self, path: str) -> Any:
        """A file to read. Raises FileNotFoundError."""
        return open(self.full(path), "rb") if self.is_local else self.files.open(self.full(path), "rb")

    def read(self, path: str, most: int | None = None) -> bytes:
        """A file's bytes. Raises FileNotFoundError, and UnreadableInput beyond ``most`` bytes."""
        with self.open(path) as file:
            if most is None:
                return bytes(file.read())
            found = bytes(file.read(most + 1))
        if len(found) > most:
            raise UnreadableInput(f"cannot read {path} of {self.address}", f"it has more than {most:,} bytes")
        return found

    def write(self, path: str, contents: bytes) -> None:
        """Write a file, which appears whole."""
        full = self.full(path)
        if not self.is_local:
            self.files.pipe_file(full, contents)
            return
        os.makedirs(os.path.dirname(full), exist_ok=True)
        draft = full + _DRAFT + secrets.token_hex(8)
        try:
            with open(draft, "xb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, full)
        except BaseException:
            if os.path.exists(draft):
                os.unlink(draft)
            raise

    def found(self, folder: str) -> dict[str, Found]:
        """All files below a folder, by their path in the store; none if there is no such folder."""
        now = time.time()
        start = len(self.root) + 1
        if self.is_local:
            files = {}
            for parent, _folders, names in os.walk(self.full(folder)):
                for name in names:
                    try:
                        about = os.stat(os.path.join(parent, name))
                    except FileNotFoundError:
                        continue
                    files[os.path.join(parent, name)[start:]] = Found(about.st_size, now - about.st_mtime)
            return dict(sorted(files.items()))
        self.files.invalidate_cache()
        try:
            found = self.files.find(self.full(folder), detail=True)
        except FileNotFoundError:
            return {}
        return {
            path[start:]: Found(int(about.get("size") or 0), now - _written(about))
            for path, about in sorted(found.items())
            if about["type"] == "file"
        }

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; those that are gone already do not matter."""
        for path in paths:
            try:
                if self.is_local:
                    os.unlink(self.full(path))
                else:
                    self.files.rm_file(self.full(path))
            except FileNotFoundError:
                continue

    def put(self, partition: Partition, contents: bytes, rows: int) -> DataFile:
        """Write a data file, which does not count before a commit lists it."""
        name = hashlib.blake2b(contents, digest_size=16).hexdigest()
        path = partition.path(name)
        self.write(path, contents)
        return DataFile(path, rows, len(contents))

    def commit(self, files: Iterable[DataFile], replaces: Iterable[str] = ()) -> Commit:
        """Make files count, in place of those of other commits."""
        listed = tuple(sorted(set(files)))
        names = sorted(set(replaces))
        document = {
            "format": FORMAT,
            "version": VERSION,
            "files": [file._asdict() for file in listed],
            "replaces": names,
        }
        text = json.dumps(document, indent=1).encode()
        name = hashlib.blake2b(text, digest_size=16).hexdigest()
        self.write(f"commits/{name}.json", text)
        return Commit(name, listed, frozenset(names))

    def contents(self, known: dict[str, Commit] | None = None) -> Contents:
        """What the store holds now. ``known``: commits by name that were read before; those that are read now are
        added. Raises UnreadableInput for commits that are damaged or of another version."""
        commits = known if known is not None else {}
        for _try in range(_TRIES):
            names = [path.rpartition("/")[2] for path in self.found("commits")]
            names = [name for name in names if COMMIT.fullmatch(name)]
            if len(names) > self.limits.store_commits:
                why = f"it has more than {self.limits.store_commits:,} commits"
                raise UnreadableInput(f"cannot read {self.address}", why, f"undwarf fleet compact {self.address}")
            try:
                for name in names:
                    if name not in commits:
                        commits[name] = self._commit(name)
                return Contents([commits[name] for name in names])
            except FileNotFoundError:
                # Replaced, and removed, since the list was made.
                continue
        raise UnreadableInput(f"cannot read {self.address}", "its commits keep disappearing", "try again")

    def _commit(self, name: str) -> Commit:
        text = self.read(f"commits/{name}", self.limits.store_commit_bytes)
        try:
            document = json.loads(text)
            if document["format"] != FORMAT or document["version"] != VERSION:
                raise UnreadableInput(
                    f"cannot read {self.address}",
                    f"its layout is of version {str(document['version'])[:20]!r}, and this undwarf reads {VERSION}",
                    "use the version of undwarf that wrote it, or a newer one",
                )
            files = tuple(
                DataFile(str(file["path"]), int(file["rows"]), int(file["size"])) for file in document["files"]
            )
            replaces = frozenset(map(str, document["replaces"]))
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise UnreadableInput(f"cannot read {self.address}", f"the commit {name} is damaged: {error}") from None
        for file in files:
            partition_of(file.path)
        return Commit(name.removesuffix(".json"), files, replaces)

    def clean(self, grace: float) -> int:
        """Remove commits that were replaced ``grace`` seconds ago, and files that no commit lists and that are older;
        gives how many files. Nothing may be reading what was replaced before, or writing for longer than that."""
        contents = self.contents()
        ages = {path.rpartition("/")[2].removesuffix(".json"): one.age for path, one in self.found("commits").items()}
        over = [old for old, new in contents.replaced_by.items() if ages.get(new, 0.0) >= grace]
        self.remove(f"commits/{name}.json" for name in sorted(over))
        listed = self.contents().listed
        left = [
            path
            for folder in (*TABLES, "commits")
            for path, one in self.found(folder).items()
            if path not in listed and (_DRAFT in path or folder != "commits")
            if one.age >= grace or path in contents.listed
        ]
        self.remove(left)
        return len(over) + len(left)


def _written(about: dict[str, Any]) -> float:
    """When a file was written, in seconds since 1970; now if its file system does not say."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        when = about.get(key)
        if when is not None:
            return float(when.timestamp() if hasattr(when, "timestamp") else when)
    return time.time()
