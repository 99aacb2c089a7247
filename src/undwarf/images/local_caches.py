"""Local caches of files by build-id: perf's, and that of debuginfod clients."""

import os
import stat
from collections.abc import Mapping

EXECUTABLE = "executable"
DEBUGINFO = "debuginfo"
"""debuginfod's names for the two files of a build-id."""

CONFIG_BYTES = 1 << 20
"""Maximum bytes of a configuration file."""


def perf_cache(environ: Mapping[str, str] | None = None) -> str:
    """perf's cache of binaries: ``$PERF_BUILDID_DIR``, ``buildid.dir`` of perf's configuration, else ``~/.debug``.

    The configuration is ``$PERF_CONFIG`` alone, else the user's file, else the system's (tools/perf/util/config.c).
    """
    env = os.environ if environ is None else environ
    if env.get("PERF_BUILDID_DIR"):
        return env["PERF_BUILDID_DIR"]
    home = env.get("HOME", "")
    files = [env["PERF_CONFIG"]] if env.get("PERF_CONFIG") else [f"{home}/.perfconfig", "/etc/perfconfig"]
    for path in files:
        found = _setting(path, "buildid", "dir")
        if found:
            return home + found[1:] if found.startswith("~/") else found
    return f"{home}/.debug" if home else ""


def _setting(path: str, section: str, name: str) -> str:
    """A value of a configuration file in git's format; empty if it is not set."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(CONFIG_BYTES)
    except OSError:
        return ""
    here, found = "", ""
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):
            here = line[1:].partition("]")[0].strip().lower()
        elif here == section and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            if key.strip().lower() == name:
                found = value.strip().strip('"')
    return found


def debuginfod_cache(environ: Mapping[str, str] | None = None) -> str:
    """The cache that debuginfod's clients share; empty without a home.

    ``$DEBUGINFOD_CACHE_PATH``, else the old ``~/.debuginfod_client_cache`` where it exists, else
    ``debuginfod_client`` below ``$XDG_CACHE_HOME`` or ``~/.cache`` (elfutils, debuginfod_find_debuginfo(3)).
    """
    env = os.environ if environ is None else environ
    if env.get("DEBUGINFOD_CACHE_PATH"):
        return env["DEBUGINFOD_CACHE_PATH"]
    home = env.get("HOME", "")
    old = f"{home}/.debuginfod_client_cache"
    if home and os.path.isdir(old):
        return old
    if env.get("XDG_CACHE_HOME"):
        return f"{env['XDG_CACHE_HOME']}/debuginfod_client"
    return f"{home}/.cache/debuginfod_client" if home else ""


def cached(cache: str, build_id: bytes, kind: str) -> str:
    """The path of a file in the cache, or empty. No network."""
    if not cache or len(build_id) < 2:
        return ""
    path = f"{cache}/{build_id.hex()}/{kind}"
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return path if stat.S_ISREG(status.st_mode) and status.st_size else ""
