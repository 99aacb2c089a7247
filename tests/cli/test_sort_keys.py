"""Every documented sort key of ``report`` with every option that changes what is made of it."""

import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.perfdata.build import PLAIN, Attr, Build

from undwarf.cli.main import undwarf
from undwarf.outputs.report import TITLES
from undwarf.perfdata import SampleField
from undwarf.views.flat_profile import FRAME_KEYS, KEYS, LABEL_KEYS, SAMPLE_KEYS

CHAIN, ACCESS = SampleField.CALLCHAIN, SampleField.ADDR | SampleField.WEIGHT | SampleField.DATA_SRC
PAGES = SampleField.PHYS_ADDR | SampleField.DATA_PAGE_SIZE | SampleField.CODE_PAGE_SIZE
ATTR = Attr(sample_type=PLAIN | CHAIN | ACCESS | PAGES)
OPTIONS = ([], ["--no-children"], ["-g", "none"], ["-g", "callee"], ["-n"], ["--weight", "samples"], ["--rows", "1"])


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two samples of a file that is not here, one of the kernel, with all that is recorded of accesses."""
    b = Build()
    chain = (2**64 - 512, 0x400100, 0x400200)
    access = {"addr": 0x400800, "weight": 7, "data_src": 0x68100142, "phys": 0x1234, "data_page": 4096}
    samples = [b.sample(ATTR, ip=0x400100 + k, pid=10, tid=10, time=9 + k, chain=chain, **access) for k in range(2)]
    samples.append(b.sample(ATTR, ip=2**64 - 128, pid=10, tid=10, time=20, misc=1))
    path = tmp_path_factory.mktemp("keys") / "perf.data"
    path.write_bytes(b.file([ATTR], [b.comm(ATTR, b"prog"), b.mmap2(ATTR, b"/bin/one", pid=10, tid=10), *samples]))
    return path


def shown(*arguments: object) -> str:
    result = CliRunner().invoke(undwarf, ["report", *map(str, arguments)])
    assert result.exit_code == 0, (arguments, result.output)
    return result.stdout


@pytest.mark.parametrize("key", KEYS)
def test_a_key_goes_with_every_option(recording: Path, key: str) -> None:
    for options in OPTIONS:
        text = shown("-s", key, "--percent-limit", 0, *options, recording)
        assert TITLES[key] in text
        assert "100.00%" in text or " 66.67%" in text or "50.00%" in text


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_in_each_row_of_json(recording: Path, key: str) -> None:
    for options in OPTIONS:
        (event,) = json.loads(shown("--json", "-s", key, "--percent-limit", 0, *options, recording))["events"]
        assert [row[key] for row in event["rows"]]
        assert sum(row["samples"] for row in event["rows"]) == 3


@pytest.mark.parametrize("key", KEYS)
def test_a_key_goes_with_keys_of_each_other_kind(recording: Path, key: str) -> None:
    kinds = (SAMPLE_KEYS[0], *FRAME_KEYS, LABEL_KEYS[0], "mem", "phys_daddr", "weight", "symbol_daddr")
    for other, first in itertools.product(kinds, (True, False)):
        keys = (key, other) if first else (other, key)
        assert TITLES[key] in shown("-s", ",".join(keys), "-g", "none", recording)


@pytest.mark.parametrize("key", LABEL_KEYS)
def test_data_types_may_be_those_that_are_waited_for(recording: Path, key: str) -> None:
    assert TITLES[key] in shown("--skid", "-s", key, recording)


def test_the_help_names_all_keys() -> None:
    text = "".join(shown("--help").split())
    aliases = {"weight", "ins_lat", "local_retire_lat", "retire_lat"}
    assert not [key for key in KEYS if key not in text and key not in aliases]
