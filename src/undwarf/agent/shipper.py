"""Ships finished recordings from the spool to the store, in a thread of its own."""

import re
import threading
from collections.abc import Callable

from undwarf.agent.clock import Clock
from undwarf.agent.metrics import Metrics
from undwarf.agent.spool import Spool, Spooled
from undwarf.agent.store import Store
from undwarf.errors import UndwarfError

FIRST_WAIT_S, MOST_WAIT_S = 1.0, 300.0
"""Seconds between two attempts while the store is away: at first, and at most. They double; a random part of up to half
is left out, so that a thousand agents do not come back at the same moment."""
IDLE_S = 60.0
"""Seconds after which the spool is looked at without being asked."""


def name_in_store(host: str, day: str, name: str) -> str:
    """The path of a recording below the store's root, without extension. Nothing of it leaves ``incoming``."""
    host = re.sub(r"[^A-Za-z0-9._-]", "_", host).lstrip(".")[:200] or "unknown"
    return f"incoming/{day}/{host}/{name}"


class Shipper:
    """Stores what waits in the spool, the oldest recording first; ``send`` gets each once before, whether or not the
    store is there."""

    def __init__(
        self,
        spool: Spool,
        store: Callable[[], Store],
        metrics: Metrics,
        clock: Clock,
        say: Callable[[str], None],
        send: Callable[[Spool, str], None] | None = None,
    ) -> None:
        self._spool = spool
        self._open = store
        self._store: Store | None = None
        self._metrics = metrics
        self._clock = clock
        self._say = say
        self._send = send
        self._sent = ""
        self._away_since: float | None = None
        self._failures = 0
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="undwarf-shipper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """A recording was finished."""
        self._news.set()

    def use(self, store: Callable[[], Store], send: Callable[[Spool, str], None] | None) -> None:
        """Ship to another store from now on."""
        self._open, self._store, self._send = store, None, send
        self._failures = 0
        self.wake()

    def stop(self, seconds: float) -> None:
        """Ship what waits if the store is there, for so many seconds at most; the rest stays in the spool. Does
        nothing before :meth:`start`."""
        self._stopping.set()
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._news.clear()
            wait = self.ship_all()
            if self._store is not None:
                self._store.rest()
                wait = wait or self._store.pause
            if self._stopping.is_set():
                return
            if wait:
                self._stopping.wait(wait)
            else:
                self._news.wait(IDLE_S)

    def ship_all(self) -> float:
        """Ship what waits; seconds after which to try again, 0 if all is done."""
        while (one := self._spool.oldest()) is not None:
            self._note_spool()
            try:
                self._ship(one)
            except (OSError, UndwarfError) as error:
                return self._failed(error)
            if self._away_since is not None:
                away = self._clock.steady() - self._away_since
                self._say(f"the store is back after {away:.0f} s; {len(self._spool)} recordings wait")
                self._away_since = None
            self._failures, self._metrics.backoff_seconds = 0, 0.0
        self._note_spool()
        return 0.0

    def _note_spool(self) -> None:
        self._metrics.spooled, self._metrics.spooled_bytes = len(self._spool), self._spool.size

    def _failed(self, error: OSError | UndwarfError) -> float:
        """Note that the store is away; seconds until the next attempt."""
        longest = min(FIRST_WAIT_S * 2.0 ** min(self._failures, 16), MOST_WAIT_S)
        wait = longest * (1 - self._clock.jitter() / 2)
        self._failures += 1
        self._metrics.failures += 1
        self._metrics.backoff_seconds = wait
        if self._away_since is None:
            self._away_since = self._clock.steady()
            self._say(f"the store is away, recordings are kept: {error}")
        return wait

    def _ship(self, one: Spooled) -> None:
        try:
            about = self._spool.describe(one.name)
            whole = self._spool.whole(one.name, about)
        except FileNotFoundError:
            # It was dropped for a newer one.
            self._spool.remove(one.name)
            return
        except ValueError:
            about, whole = {}, False
        labels, start = about.get("labels"), about.get("start")
        if not whole or not isinstance(labels, dict) or not isinstance(start, str):
            self._say(f"{one.name} in the spool is damaged, and was removed")
            self._spool.remove(one.name)
            self._metrics.dropped += 1
            return
        if self._send is not None and self._sent < one.name:
            self._sent = one.name
            self._send(self._spool, one.name)
        if self._store is None:
            self._store = self._open()
        target = name_in_store(str(labels.get("host", "")), re.sub(r"[^0-9-]", "", start[:10]), one.name)
        recording, description = self._spool.files(one.name)
        self._store.put(target + recording.suffix, recording)
        # What has a description is there.
        self._store.put(target + description.suffix, description)
        self._spool.remove(one.name)
        self._metrics.shipped += 1
        self._metrics.shipped_bytes += one.size
