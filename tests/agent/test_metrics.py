"""Metrics: their text, and the server on loopback."""

import re
import urllib.error
import urllib.request

import pytest

from undwarf.agent.metrics import Metrics
from undwarf.agent.metrics_server import MetricsServer, address_of
from undwarf.errors import UsageError


def test_the_text_is_openmetrics() -> None:
    text = Metrics(samples=7, backoff_seconds=1.5).text()
    assert text.endswith("# EOF\n")
    assert "undwarf_samples_total 7\n" in text
    assert "undwarf_backoff_seconds 1.5\n" in text
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", text))
    values = dict(re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE))
    assert len(types) == len(values) > 15
    for name, kind in types.items():
        assert (f"{name}_total" if kind == "counter" else name) in values


def test_they_are_served_on_loopback() -> None:
    server = MetricsServer("127.0.0.1:0", Metrics(samples=7).text)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            assert b"undwarf_samples_total 7\n" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/other")
        refused.value.close()
    finally:
        server.close()


@pytest.mark.parametrize("address", ["0.0.0.0:9480", "example.org:80", "127.0.0.1", "127.0.0.1:x", ":80"])
def test_an_address_elsewhere_is_an_error(address: str) -> None:
    with pytest.raises(UsageError):
        address_of(address)


def test_localhost_and_version_6_are_on_loopback() -> None:
    assert address_of("localhost:1") == ("127.0.0.1", 1)
    assert address_of("[::1]:1") == ("::1", 1)
