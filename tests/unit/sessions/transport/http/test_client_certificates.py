"""Certificates are read once while they are in use, and anew when they have changed."""

import gc
import os
import ssl
from pathlib import Path

import httpx2
import pytest

from mcp_progress_monitor.sessions.transport.http import client


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each time that they were read."""
    times: list[bool] = []

    def create() -> ssl.SSLContext:
        times.append(True)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(httpx2, "create_ssl_context", create)
    return times


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "authority.pem"
    path.write_text("one")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


@pytest.mark.usefixtures("authority")
def test_fifty_connections_share_what_was_read(read: list[bool]) -> None:
    held = [client.trusted() for _ in range(50)]
    assert len(set(map(id, held))) == 1
    assert len(read) == 1


def test_a_changed_file_is_read_for_the_next_connection(authority: Path, read: list[bool]) -> None:
    first = client.trusted()
    os.utime(authority, ns=(1, 1))
    assert client.trusted() is not first
    assert len(read) == 2


@pytest.mark.usefixtures("authority")
def test_another_file_is_read(
    tmp_path: Path, read: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = client.trusted()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    assert client.trusted() is not first
    assert len(read) == 2


@pytest.mark.usefixtures("authority")
def test_nothing_is_kept_once_no_connection_needs_it(read: list[bool]) -> None:
    held = client.trusted()
    del held
    gc.collect()
    client.trusted()
    assert len(read) == 2


def test_a_file_that_cannot_be_read_is_an_error_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    for _ in range(2):
        with pytest.raises(OSError, match="No such file"):
            client.trusted()
