"""The demo server over HTTP as a process of its own, which a test may kill and start again."""

import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

_ADDRESS = re.compile(r"Listening on (https?://\S+)")


@dataclass
class HttpServer:
    """One server: where it listens, and its process, which changes with each `restart`."""

    url: str
    process: subprocess.Popen[str]
    options: tuple[str, ...]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].partition("/")[0])

    def kill(self) -> None:
        """End the process with SIGKILL: it has no time to say or write anything."""
        self.process.kill()
        self.process.communicate()

    def terminate(self) -> int:
        """End the process as one should, and return its exit code."""
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    async def restart(self) -> None:
        """Start the server again on the same port, after killing it if it still runs."""
        if self.process.poll() is None:
            self.kill()
        port = self.port
        self.process, self.url = await anyio.to_thread.run_sync(_started, self.options, port)


@asynccontextmanager
async def http_server(*options: str, port: int = 0) -> AsyncIterator[HttpServer]:
    """Run the demo over HTTP with these options until the end of the context."""
    process, url = await anyio.to_thread.run_sync(_started, options, port)
    server = HttpServer(url, process, options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
        elif server.process.stderr is not None and not server.process.stderr.closed:
            server.process.communicate()


def _started(options: tuple[str, ...], port: int) -> tuple[subprocess.Popen[str], str]:
    command = [*COMMAND, "--http", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = _ADDRESS.match(line)
    if found is None:
        process.kill()
        rest = process.communicate()[1]
        raise AssertionError(f"the demo server did not start: {line}{rest}")
    return process, found[1]


def self_signed(folder: Path) -> tuple[str, str]:
    """Make a certificate for this machine, and its key, and return their paths."""
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl makes the certificate")
    wanted = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-nodes", "-days", "30", "-keyout", key, "-out", certificate]
    subprocess.run([program, *wanted, *names, *files], check=True, capture_output=True)
    return certificate, key
