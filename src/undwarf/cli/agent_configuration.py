"""The configuration file of ``undwarf agent``: TOML, read as that of the other commands, with its own keys."""

import re
from pathlib import Path
from typing import Any

from undwarf.agent.metrics_server import address_of
from undwarf.agent.settings import AgentSettings
from undwarf.cli.configuration import Configuration, read
from undwarf.errors import UsageError

_SIZE = re.compile(r"(\d{1,12}) ?([KMGT]?)(?:i?B)?\Z")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}\Z")
MOST_LABEL = 256
FREQUENCIES = range(1, 1000)
LONGEST_S, SHORTEST_S = 3600, 1
SMALLEST_SPOOL = 1 << 20
KEYS = {
    "": ("store", "labels", "spool", "sampling", "budget", "metrics", "otlp", "kubernetes"),
    "spool": ("folder", "size"),
    "sampling": ("frequency", "event", "seconds", "stack"),
    "budget": ("percent",),
    "metrics": ("listen",),
    "otlp": ("endpoint", "headers"),
    "kubernetes": ("pods",),
}
"""By table: its keys."""
DEFAULT_SPOOL = "/var/lib/undwarf/spool"


class _Values:
    """Takes values from a configuration; errors name file, line and key."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        for table, keys in KEYS.items():
            for key in configuration.table(table) if table else configuration.values:
                if key not in keys:
                    raise configuration.unknown((table, key) if table else (key,), list(keys))

    def get(self, *keys: str) -> Any:
        """The value of a key, None if it is not there."""
        *table, key = keys
        return (self._configuration.table(table[0]) if table else self._configuration.values).get(key)

    def error(self, keys: tuple[str, ...], problem: str, hint: str = "") -> UsageError:
        """The error for a key."""
        return self._configuration.error(keys, problem, hint)

    def text(self, *keys: str, default: str = "") -> str:
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, str) or not value or "\0" in value:
            raise self.error(keys, f"{value!r} is not a text in quotes")
        return value

    def integer(self, *keys: str, default: int, among: range) -> int:
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value not in among:
            raise self.error(keys, f"{value!r} is not a whole number from {among.start} to {among.stop - 1}")
        return value

    def size(self, *keys: str, default: int, least: int, most: int) -> int:
        value = self.get(*keys)
        if value is None:
            return default
        found = _SIZE.match(value) if isinstance(value, str) else None
        bytes_ = int(found[1]) << 10 * " KMGT".index(found[2] or " ") if found else 0
        if not least <= bytes_ <= most:
            raise self.error(keys, f"{value!r} is no size from {least:,} to {most:,} bytes", 'as "256M"')
        return bytes_

    def percent(self, *keys: str, default: float) -> float:
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 100:
            raise self.error(keys, f"{value!r} is not a number above 0 up to 100")
        return float(value)

    def texts(self, *keys: str) -> dict[str, str]:
        """A table of texts by name."""
        value = self.get(*keys)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(keys, f"{value!r} is no table", f"[{'.'.join(keys)}]")
        for name, text in value.items():
            if not _LABEL.match(name):
                raise self.error((*keys, name), "is no name", "letters, digits and _ . -, at most 63")
            if not isinstance(text, str) or not text or len(text) > MOST_LABEL or not text.isprintable():
                raise self.error((*keys, name), f"{text!r} is no text of 1 to {MOST_LABEL} printable characters")
        return dict(value)


def read_settings(path: str) -> AgentSettings:
    """The settings in a file. Raises UnreadableInput, and UsageError that names the line and key."""
    values = _Values(read(path))
    store = values.text("store")
    if not store:
        raise UsageError(f"{path}: no store", "recordings have to go somewhere", 'store = "/srv/profiles"')
    metrics = values.text("metrics", "listen")
    if metrics:
        try:
            address_of(metrics)
        except UsageError as error:
            raise values.error(("metrics", "listen"), str(error), error.hint) from error
    otlp = values.text("otlp", "endpoint")
    if otlp and not otlp.startswith(("http://", "https://")):
        raise values.error(
            ("otlp", "endpoint"), f"{otlp!r} is no address of HTTP", 'as "http://127.0.0.1:4318/v1development/profiles"'
        )
    default = AgentSettings(store, Path(DEFAULT_SPOOL))
    return AgentSettings(
        store=store,
        spool=Path(values.text("spool", "folder", default=DEFAULT_SPOOL)).expanduser(),
        spool_bytes=values.size("spool", "size", default=default.spool_bytes, least=SMALLEST_SPOOL, most=1 << 40),
        labels=values.texts("labels"),
        frequency=values.integer("sampling", "frequency", default=default.frequency, among=FREQUENCIES),
        event=values.text("sampling", "event"),
        seconds=values.integer(
            "sampling", "seconds", default=int(default.seconds), among=range(SHORTEST_S, LONGEST_S + 1)
        ),
        stack_bytes=values.size("sampling", "stack", default=default.stack_bytes, least=1 << 10, most=63 << 10),
        budget_percent=values.percent("budget", "percent", default=default.budget_percent),
        pods=Path(values.text("kubernetes", "pods", default=str(default.pods))),
        metrics=metrics,
        otlp=otlp,
        otlp_headers=values.texts("otlp", "headers"),
    )
