"""A Dask cluster whose members know each other by certificates."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.dask_cluster import cluster
from tests.support.fleets import rows, write_host

from undwarf.fleet.store import Store


class Authority:
    """Who signs certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed("authority", self.key, is_authority=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def files(self, name: str) -> list[str]:
        """The files that --tls takes: of the authority, a certificate by it, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        own, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        own.write_bytes(self._signed(name, key).public_bytes(serialization.Encoding.PEM))
        kind = serialization.PrivateFormat.PKCS8
        secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()))
        return [str(self.path), str(own), str(secret)]

    def _signed(self, name: str, key: ec.EllipticCurvePrivateKey, is_authority: bool = False) -> x509.Certificate:
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = subject if is_authority else self.certificate.subject
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(self.key, hashes.SHA256())
        )


def ingest(store: Path, recording: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "undwarf", "fleet", "ingest", str(store), recording, "--no-cache", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_only_who_has_a_certificate_of_the_authority_gives_work(tmp_path: Path) -> None:
    ours, foreign = Authority(tmp_path / "ours"), Authority(tmp_path / "foreign")
    authority, own, key = ours.files("cluster")
    recording, store = write_host(tmp_path / "one.data", "one"), tmp_path / "store"
    # Whoever is deceived about the cluster's authority has still no certificate that the cluster knows.
    impostor = [str(ours.path), *foreign.files("impostor")[1:]]
    with cluster(tmp_path, 1, "--tls-ca-file", authority, "--tls-cert", own, "--tls-key", key) as (address, _all):
        assert address.startswith("tls://")
        plain = address.replace("tls://", "tcp://")
        attempts = {
            "no certificate": ["--dask", address],
            "no TLS": ["--dask", plain],
            "another authority's": ["--dask", address, "--tls", *impostor],
            "a cluster of another authority": ["--dask", address, "--tls", *foreign.files("client")],
        }
        with ThreadPoolExecutor(2) as pool:
            done = pool.map(lambda options: ingest(store, recording, *options), attempts.values())
            refused = dict(zip(attempts, done, strict=True))
        assert not store.exists()
        taken = ingest(store, recording, "--dask", address, "--tls", *ours.files("client"))
    assert taken.returncode == 0, taken.stderr
    assert rows(Store(str(store)), "SELECT count(*) FROM samples") == [(50,)]
    for why, command in refused.items():
        assert command.returncode == 2, (why, command.stderr)
        assert "Traceback" not in command.stderr, (why, command.stderr)
        assert "cannot reach the scheduler" in command.stderr, (why, command.stderr)


@pytest.mark.parametrize("missing", range(3))
def test_a_file_of_tls_that_is_not_there_is_an_error(missing: int, tmp_path: Path) -> None:
    files = Authority(tmp_path / "ours").files("client")
    files[missing] += ".gone"
    recording = write_host(tmp_path / "one.data", "one")
    done = ingest(tmp_path / "store", recording, "--dask", "tls://127.0.0.1:9", "--tls", *files)
    assert done.returncode == 2
    assert "gone" in done.stderr
    assert "Traceback" not in done.stderr
