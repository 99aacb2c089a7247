"""A client of debuginfod servers: files by build-id, over the network, only at the user's request.

The cache has the layout and the aging of elfutils' client (debuginfod/debuginfod-client.c,
debuginfod_find_debuginfo(3)), so that gdb, perf and undwarf share fetched files: ``BUILDID/debuginfo``,
``BUILDID/executable``, written under another name and renamed; an empty file records for
``cache_miss_s`` seconds that no server has it.
"""

import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from undwarf.defects import Defects
from undwarf.disk_cache import own_directory
from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.images import build_ids
from undwarf.images.local_caches import DEBUGINFO, EXECUTABLE, cached, debuginfod_cache
from undwarf.limits import DEFAULT, Limits

if TYPE_CHECKING:
    import socket

    import httpx

CACHE_MISS_S = 600
CLEAN_INTERVAL_S = 86400
MAX_UNUSED_AGE_S = 604800
"""Default contents of the cache's own files."""

ENOUGH_BYTES = 100 << 10
"""Bytes that must arrive within each timeout, else the server is too slow."""
MAX_REDIRECTS = 5
MAX_FAILURES = 2
"""Failures of a server after which it is not used again."""

_PORTS = {"http": 80, "https": 443}

_OURS = re.compile(r"[0-9a-f]{2,128}\Z")
_KINDS = re.compile(r"(debuginfo|executable|source.*|section.*)\Z")

Report = Callable[[str, int, int], None]
"""Called with the name of a download, the bytes received, and its size (0 if unknown)."""


def servers(environ: Mapping[str, str] | None = None, folder: str = "/etc/debuginfod") -> tuple[str, ...]:
    """The servers that ``$DEBUGINFOD_URLS`` names, else those of the distribution's ``/etc/debuginfod/*.urls``.

    Words that are no URL (``ima:enforcing``) are left out.
    """
    env = os.environ if environ is None else environ
    text = env.get("DEBUGINFOD_URLS", "")
    if "DEBUGINFOD_URLS" not in env:
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".urls"):
                    with suppress(OSError), open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                        text += " " + file.read(1 << 16)
    words = (word.rstrip("/") for word in text.split())
    return tuple(dict.fromkeys(word for word in words if word.startswith(("http://", "https://"))))


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    try:
        return max(0, int(environ[name]))
    except (KeyError, ValueError):
        return default


@dataclass(frozen=True, slots=True)
class Settings:
    """Servers and limits. ``timeout``: seconds for 100 KB; ``max_time``: seconds for a file, 0 for no limit.

    ``max_size`` in bytes; ``retries`` after temporary failures.
    """

    urls: tuple[str, ...]
    cache: str
    timeout: int = 90
    max_time: int = 0
    max_size: int = DEFAULT.download_bytes
    retries: int = 2
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, limits: Limits = DEFAULT) -> "Settings":
        """Options from the environment variables of elfutils' client; the smaller of its size limit and ours counts."""
        env = os.environ if environ is None else environ
        size = _number(env, "DEBUGINFOD_MAXSIZE", 0)
        return cls(
            servers(env),
            debuginfod_cache(env),
            _number(env, "DEBUGINFOD_TIMEOUT", 90),
            _number(env, "DEBUGINFOD_MAXTIME", 0),
            min(size, limits.download_bytes) if size else limits.download_bytes,
            _number(env, "DEBUGINFOD_RETRY_LIMIT", 2),
            tuple(_headers(env.get("DEBUGINFOD_HEADERS_FILE", ""))),
        )


def _headers(path: str) -> Iterator[tuple[str, str]]:
    if not path:
        return
    with suppress(OSError), open(path, encoding="latin-1") as file:
        for line in file.read(1 << 16).split("\n"):
            name, colon, value = line.partition(":")
            if colon and name.strip() and value.strip():
                yield name.strip(), value.strip()


class _Failure(Exception):
    """A server failed; ``again``: a retry may help."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


class _NotThere(Exception):
    """The server does not have the file."""


@dataclass(slots=True)
class Download:
    """One file that was fetched."""

    path: str
    size: int
    server: str


@dataclass(slots=True)
class _Server:
    url: str
    failures: int = 0
    dead: bool = False


@dataclass(slots=True)
class _Asked:
    """The result of a query for a file; ``everywhere``: all servers reported that they do not have it."""

    everywhere: bool = True
    path: str = ""
    reasons: list[str] = field(default_factory=list)


class _Watch:
    """Shuts connections down after a deadline, in a separate thread.

    Socket timeouts are for single reads: a server that sends a byte now and then, or "100 Continue" repeatedly, never
    exceeds them. A context manager for one request at a time; :meth:`see` registers its connections.
    """

    def __init__(self, sockets: "list[socket.socket]") -> None:
        self._sockets = sockets
        self._until = 0.0
        self._changed = threading.Condition()
        self._over = False
        self.late = False
        """Whether the deadline has passed."""

    def __enter__(self) -> "_Watch":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline to this long from now."""
        with self._changed:
            self._until = time.monotonic() + seconds
            self._changed.notify()

    def see(self, event: str, info: "Mapping[str, object]") -> None:
        """Register a connection (httpcore's "trace" extension)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            stream: Any = info.get("return_value")
            found = stream.get_extra_info("socket") if stream is not None else None
            if found is not None:
                self._sockets.append(found)

    def _run(self) -> None:
        with self._changed:
            while not self._over:
                left = self._until - time.monotonic() if self._until else None
                if left is not None and left <= 0:
                    self.late = True
                    break
                self._changed.wait(left)
            if not self.late:
                return
            import socket

            for one in self._sockets:
                # Not SSLSocket's own method, which frees state that another thread is reading with.
                with suppress(OSError):
                    socket.socket.shutdown(one, socket.SHUT_RDWR)


class Debuginfod:
    """Fetches files by build-id from the servers, once; misses are cached, too.

    Only the user's servers are used: redirections to another host, port or scheme are refused, except from http to
    https on the default ports. A file must have the requested build-id. Failures are counted in ``defects``.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
        report: Report | None = None,
    ) -> None:
        self.settings = settings
        self.downloads: list[Download] = []
        self.report = report
        self.defects = Defects() if defects is None else defects
        self._limits = limits
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._sockets: list[socket.socket] = []
        self._servers = [_Server(url) for url in settings.urls]
        self._known: dict[tuple[bytes, str], str] = {}

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None
            self._sockets.clear()

    def executable(self, build_id: bytes, name: str = "") -> str:
        """The path of the binary with this build-id, fetched if need be; empty if no server has it."""
        return self._find(build_id, EXECUTABLE, name)

    def debuginfo(self, build_id: bytes, name: str = "") -> str:
        """The path of the debug file with this build-id, fetched if need be; empty if no server has it."""
        return self._find(build_id, DEBUGINFO, name)

    def _find(self, build_id: bytes, kind: str, name: str) -> str:
        if not 2 <= len(build_id) <= 64:
            return ""
        with self._lock:
            key = build_id, kind
            if key not in self._known:
                try:
                    self._known[key] = self._look(build_id, kind, name)
                except OSError as error:
                    self.defects.add("debuginfod cache cannot be used", self.settings.cache, detail=str(error))
                    self._known[key] = ""
            return self._known[key]

    def _look(self, build_id: bytes, kind: str, name: str) -> str:
        cache = self.settings.cache
        if not cache:
            self.defects.add("no directory for debuginfod's cache", detail="set DEBUGINFOD_CACHE_PATH")
            return ""
        path = cached(cache, build_id, kind)
        if path and self._carries(path, build_id):
            return path
        with own_directory(cache, make=True, link=True) as top:
            if self._is_missing(top, f"{build_id.hex()}/{kind}"):
                return ""
            self._clean(top)
            with own_directory(build_id.hex(), within=top, make=True) as folder:
                asked = self._ask(build_id, kind, name, folder)
                if not asked.path and asked.everywhere and self._servers:
                    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
                    with suppress(OSError):
                        os.close(os.open(kind, flags, 0o666, dir_fd=folder))
            if not asked.path and not (asked.everywhere and self._servers):
                with suppress(OSError):
                    os.rmdir(build_id.hex(), dir_fd=top)
        return asked.path

    # The cache -----------------------------------------------------------------------------------------

    def _is_missing(self, top: int, miss: str) -> bool:
        """Whether a cache entry records that no server has a file; outdated ones are removed."""
        with suppress(OSError):
            status = os.stat(miss, dir_fd=top, follow_symlinks=False)
            if not status.st_size and stat.S_ISREG(status.st_mode):
                if time.time() - status.st_mtime <= self._configured(top, "cache_miss_s", CACHE_MISS_S):
                    return True
                with own_directory(os.path.dirname(miss), within=top) as folder:
                    os.unlink(os.path.basename(miss), dir_fd=folder)
        return False

    def _configured(self, top: int, name: str, default: int) -> int:
        """The number in one of the cache's own files, which is created if it does not exist."""
        opener = partial(os.open, mode=0o666, dir_fd=top)
        try:
            with open(name, encoding="ascii", errors="replace", opener=opener) as file:
                return int(file.read(32))
        except FileNotFoundError:
            with suppress(OSError), open(name, "x", encoding="ascii", opener=opener) as file:
                file.write(str(default))
        except (OSError, ValueError):
            pass
        return default

    def _clean(self, top: int) -> None:
        """Once a day, removes cached files that were not read for a week."""
        marker = "cache_clean_interval_s"
        interval = self._configured(top, marker, CLEAN_INTERVAL_S)
        now = time.time()
        with suppress(OSError):
            if now - os.stat(marker, dir_fd=top, follow_symlinks=False).st_mtime < interval:
                return
            os.utime(marker, dir_fd=top, follow_symlinks=False)
            oldest = now - self._configured(top, "max_unused_age_s", MAX_UNUSED_AGE_S)
            for name in os.listdir(top):
                if _OURS.match(name):
                    with suppress(OSError):
                        self._clean_folder(top, name, oldest)

    def _clean_folder(self, top: int, name: str, oldest: float) -> None:
        with own_directory(name, within=top) as folder:
            for entry in os.scandir(folder):
                if _KINDS.match(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_atime <= oldest:
                            os.unlink(entry.name, dir_fd=folder)
            changed = os.fstat(folder).st_mtime
        if changed <= oldest:
            os.rmdir(name, dir_fd=top)

    def _carries(self, path: str, build_id: bytes) -> bool:
        try:
            return build_ids.same(ElfFile.open(path, limits=self._limits).build_id, build_id)
        except ElfError:
            return False

    # The network ---------------------------------------------------------------------------------------

    def _ask(self, build_id: bytes, kind: str, name: str, folder: int) -> _Asked:
        """Queries the servers in turn, the last successful one first. ``folder`` is the descriptor of the build-id's
        directory."""
        asked = _Asked()
        for server in list(self._servers):
            if server.dead:
                asked.everywhere = False
                continue
            for attempt in range(self.settings.retries + 1):
                try:
                    asked.path = self._fetch(server.url, build_id, kind, name, folder)
                except _NotThere:
                    server.failures = 0
                except _Failure as failure:
                    if failure.again and attempt < self.settings.retries:
                        time.sleep(min(0.1 * 2**attempt, 2))
                        continue
                    asked.everywhere = False
                    self._count(server, str(failure), f"{kind} of {name or build_id.hex()}")
                break
            if asked.path:
                server.failures = 0
                self._servers.remove(server)
                self._servers.insert(0, server)
                break
        return asked

    def _count(self, server: _Server, why: str, what: str) -> None:
        self.defects.add("debuginfod server failed", server.url, detail=f"{what}: {why}")
        server.failures += 1
        if server.failures >= MAX_FAILURES:
            server.dead = True
            self.defects.add("debuginfod server not used again", server.url, detail="it failed several times")

    def _fetch(self, server: str, build_id: bytes, kind: str, name: str, folder: int) -> str:
        """Downloads one file from one server to the cache; its path there."""
        place = f"{self.settings.cache}/{build_id.hex()}"
        temporary = f"{kind}.{os.urandom(8).hex()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:
                size, modified = self._receive(f"{server}/buildid/{build_id.hex()}/{kind}", file.write, kind, name)
                file.flush()
                if modified is not None:
                    os.utime(file.fileno(), (modified, modified))
                os.fchmod(file.fileno(), 0o400)
            if not self._carries(f"{place}/{temporary}", build_id):
                raise _Failure("it sent a file that does not carry the build-id asked for")
            os.rename(temporary, kind, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        path = f"{place}/{kind}"
        self.downloads.append(Download(path, size, server))
        return path

    def _receive(self, url: str, write: Callable[[bytes], int], kind: str, name: str) -> tuple[int, float | None]:
        """(bytes received, time of the last modification) of a URL. Raises _Failure, _NotThere."""
        import httpx

        clock = _Clock(self.settings.timeout, self.settings.max_time)
        self._sockets[:] = [one for one in self._sockets if one.fileno() >= 0]
        with _Watch(self._sockets) as watch:
            clock.begin(watch)
            try:
                for _ in range(MAX_REDIRECTS + 1):
                    with self._http().stream("GET", url, extensions={"trace": watch.see}) as response:
                        if response.is_redirect:
                            url = _redirected(url, response.headers.get("location", ""))
                            continue
                        _check_status(response.status_code)
                        return self._body(response, write, clock, f"{kind} of {name}" if name else kind)
            except (httpx.TimeoutException, httpx.TransportError) as error:
                if watch.late:
                    raise _Failure(clock.timeout_message()) from error
                raise _Failure(str(error) or type(error).__name__, again=True) from error
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise _Failure(str(error) or type(error).__name__) from error
        raise _Failure(f"more than {MAX_REDIRECTS} redirections")

    def _http(self) -> "httpx.Client":
        if self._client is None:
            import httpx

            timeout = self.settings.timeout or None
            headers = {"User-Agent": "undwarf", "Accept-Encoding": "identity"}
            self._client = httpx.Client(
                timeout=timeout,
                follow_redirects=False,
                headers={**headers, **dict(self.settings.headers)},
            )
        return self._client

    def _body(
        self, response: "httpx.Response", write: Callable[[bytes], int], clock: "_Clock", what: str
    ) -> tuple[int, float | None]:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise _Failure("it sent a compressed answer that was not asked for")
        total = _size(response)
        largest = self.settings.max_size
        if total > largest:
            raise _Failure(f"the file has {total:,} bytes, more than the limit of {largest:,}")
        title = f"downloading {what} from {response.url.host}"
        done = 0
        for chunk in response.iter_raw():
            done += len(chunk)
            if done > largest:
                raise _Failure(f"it sent more than the limit of {largest:,} bytes")
            write(chunk)
            if self.report is not None:
                self.report(title, done, total)
            clock.received(len(chunk))
        # A connection that was shut down may look like the end of a response.
        clock.received(0)
        return done, _modified(response.headers.get("last-modified", ""))


class _Clock:
    """The time for a file: ``timeout`` seconds for each 100 KB; ``whole`` seconds in all; 0 for no limit."""

    def __init__(self, timeout: int, whole: int) -> None:
        self._timeout = timeout
        self._whole = whole
        self._window = 0
        self._watch: _Watch | None = None

    def begin(self, watch: _Watch) -> None:
        """Set the deadline of ``watch``."""
        self._watch = watch
        self._started = time.monotonic()
        self._allow()

    def received(self, count: int) -> None:
        """Account for received bytes. Raises _Failure after the deadline."""
        self._window += count
        if self._watch is not None and self._watch.late:
            raise _Failure(self.timeout_message())
        if self._window >= ENOUGH_BYTES:
            self._window = 0
            self._allow()

    def _allow(self) -> None:
        # A little more than the socket timeout, so that a silent server triggers that one, and is retried.
        bounds = [self._timeout * 1.1] if self._timeout else []
        if self._whole:
            bounds.append(max(0, self._started + self._whole - time.monotonic()))
        if bounds and self._watch is not None:
            self._watch.set_deadline(min(bounds))

    def timeout_message(self) -> str:
        """The error message for a passed deadline."""
        if self._whole and time.monotonic() - self._started >= self._whole:
            return f"the file took longer than {self._whole} s"
        return f"fewer than {ENOUGH_BYTES >> 10} KB came in {self._timeout} s"


def _check_status(status: int) -> None:
    if status == 404:
        raise _NotThere
    if status == 406:
        raise _Failure("the file is larger than the limit")
    if status != 200:
        raise _Failure(f"HTTP status {status}", again=status >= 500 or status == 429)


def _redirected(url: str, location: str) -> str:
    """The target of a redirection. Raises _Failure unless it is the same server."""
    from urllib.parse import urljoin, urlsplit

    target = urljoin(url, location)
    here, there = urlsplit(url), urlsplit(target)
    if not location or there.scheme not in ("http", "https"):
        raise _Failure("a redirection that leads nowhere")
    if there.hostname != here.hostname:
        raise _Failure(f"it redirects to another host, {there.hostname}; name that in DEBUGINFOD_URLS if you trust it")
    if here.scheme == "https" and there.scheme == "http":
        raise _Failure("it redirects from https to http")
    ports = [one.port or _PORTS[one.scheme] for one in (here, there)]
    upgraded = here.scheme != there.scheme and ports == [_PORTS["http"], _PORTS["https"]]
    if ports[0] != ports[1] and not upgraded:
        raise _Failure(f"it redirects to another port, {ports[1]}; name that in DEBUGINFOD_URLS if you trust it")
    return target


def _size(response: "httpx.Response") -> int:
    """The size in the response's header; 0 if it has none."""
    for header in ("content-length", "x-debuginfod-size"):
        text = response.headers.get(header, "")
        if text.isascii() and text.isdigit() and len(text) < 20:
            return int(text)
    return 0


def _modified(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError, OSError):
        return None
