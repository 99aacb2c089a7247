"""The configuration file of the agent: its values, and errors that name the line."""

from pathlib import Path

import pytest

from undwarf.cli.agent_configuration import read_settings
from undwarf.errors import UndwarfError

WHOLE = """
store = "/srv/profiles"
[labels]
service = "shop"
release = "1.2"
[spool]
folder = "/var/spool/u"
size = "64M"
[sampling]
frequency = 49
seconds = 30
event = "cpu-clock"
stack = "16K"
[budget]
percent = 0.5
[metrics]
listen = "127.0.0.1:9480"
[otlp]
endpoint = "http://127.0.0.1:4318/v1development/profiles"
headers = { authorization = "Bearer x" }
[kubernetes]
pods = "/logs"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"


def test_all_keys_are_read(path: Path) -> None:
    path.write_text(WHOLE)
    found = read_settings(str(path))
    assert (found.store, found.spool, found.spool_bytes) == ("/srv/profiles", Path("/var/spool/u"), 64 << 20)
    assert found.labels == {"service": "shop", "release": "1.2"}
    assert (found.frequency, found.seconds, found.event, found.stack_bytes) == (49, 30, "cpu-clock", 16 << 10)
    assert (found.budget_percent, found.metrics, found.pods) == (0.5, "127.0.0.1:9480", Path("/logs"))
    assert (found.otlp[-9:], found.otlp_headers) == ("/profiles", {"authorization": "Bearer x"})


def test_a_store_is_enough(path: Path) -> None:
    path.write_text('store = "s3://bucket/fleet"')
    found = read_settings(str(path))
    assert (found.frequency, found.seconds, found.metrics, found.otlp) == (19, 60, "", "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "no store"),
        ('store = "s"\n[sampling]\nfrequncy = 3', "line 3: sampling.frequncy"),
        ('store = "s"\nlabels = 3', "line 2: labels"),
        ('store = "s"\n[sampling]\nfrequency = 0', "line 3: sampling.frequency"),
        ('store = "s"\n[sampling]\nseconds = true', "line 3: sampling.seconds"),
        ('store = "s"\n[spool]\nsize = "1K"', "line 3: spool.size"),
        ('store = "s"\n[budget]\npercent = 0', "line 3: budget.percent"),
        ('store = "s"\n[metrics]\nlisten = "0.0.0.0:1"', "not on loopback"),
        ('store = "s"\n[otlp]\nendpoint = "collector:4318"', "line 3: otlp.endpoint"),
        ('store = "s"\n[labels]\n"a b" = "c"', "is no name"),
        ('store = "s"\n[labels]\na = "\\u0007"', "line 3: labels.a"),
        ("store = ", "is not TOML"),
    ],
)
def test_what_cannot_be_is_an_error(path: Path, text: str, wanted: str) -> None:
    path.write_text(text)
    with pytest.raises(UndwarfError, match=wanted):
        read_settings(str(path))


def test_a_missing_file_is_an_error(path: Path) -> None:
    with pytest.raises(UndwarfError, match="cannot read"):
        read_settings(str(path))
