"""Recordings sent to a collector."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.commands import recording

from undwarf.agent.metrics import Metrics
from undwarf.agent.otlp import Otlp
from undwarf.agent.spool import Spool

NAME = "20251128T205200Z-00000000"


class Collector(http.server.HTTPServer):
    """Takes requests, and answers with ``status``."""

    status = 200

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, self.headers["authorization"], body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_message: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def sent(spool: Spool, collector: Collector, said: list[str]) -> Metrics:
    spool.files(NAME)[0].write_bytes(recording())
    metrics = Metrics()
    address = f"http://127.0.0.1:{collector.server_port}/v1development/profiles"
    Otlp(address, {"authorization": "Bearer x"}, metrics, said.append)(spool, NAME)
    return metrics


def test_a_recording_is_sent_as_profiles(spool: Spool, collector: Collector, tmp_path: Path) -> None:
    messages = pytest.importorskip("opentelemetry.proto.profiles.v1development.profiles_pb2")
    metrics = sent(spool, collector, [])
    ((path, authorization, body),) = collector.requests
    assert (path, authorization) == ("/v1development/profiles", "Bearer x")
    data = messages.ProfilesData.FromString(body)
    assert len(data.resource_profiles[0].scope_profiles[0].profiles[0].samples) == 1
    assert (metrics.otlp_sent, metrics.otlp_failures) == (1, 0)


def test_a_refusal_is_counted_and_said(spool: Spool, collector: Collector) -> None:
    collector.status = 503
    said: list[str] = []
    metrics = sent(spool, collector, said)
    assert (metrics.otlp_sent, metrics.otlp_failures) == (0, 1)
    assert said == ["the collector does not take profiles: HTTP 503"]
