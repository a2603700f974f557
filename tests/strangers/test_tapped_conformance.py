"""The official conformance suite says the same of clients and servers with a tap between them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.commands import linux_only
from tests.integration.conformance_suite import REVISIONS, Suite, UnavailableError, installed
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND
from tests.strangers.servers import PROGRAMS, STRANGERS
from tests.strangers.test_matrix import _installed, tapped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [linux_only, pytest.mark.campaign, pytest.mark.timeout(50 * 60)]

SERVERS = ("official", "everything", "ours")
REBINDING, REJECTED = "dns-rebinding-protection", "localhost-host-rebinding-rejected"
"""A tap answers no page of another origin itself, whatever its server does."""
OF_SIGN_IN = "auth/"
"""Clients sign in for the URL they use, which a tap passes on with options only."""


@pytest.fixture(scope="module")
def suite() -> Suite:
    try:
        return installed()
    except UnavailableError as error:
        pytest.skip(str(error))


@contextlib.contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    """A program until the end of the context, once its port is open."""
    null = subprocess.DEVNULL
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=null, stdout=null, stderr=null
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                assert process.poll() is None, command
                assert time.monotonic() < deadline, command
                time.sleep(0.05)
            yield
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def served(name: str) -> Iterator[str]:
    """A new server; its URL."""
    port = free_port()
    environment = {}
    if name == "official":
        command = [sys.executable, str(PROGRAMS / "everything_v2.py"), str(port)]
    elif name == "ours":
        command = [*COMMAND, "--http", str(port)]
    else:
        stranger = next(stranger for stranger in STRANGERS if stranger.name == name)
        _installed(stranger)
        values = {"folder": stranger.folder, "port": port}
        command = [word.format_map(values) for word in stranger.over_http["http"]]
        environment = {k: v.format_map(values) for k, v in stranger.environment.items()}
    with running(command, port, **environment):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", SERVERS)
def test_the_suite_says_the_same_of_a_server_behind_a_tap(
    suite: Suite, name: str, revision: str, tmp_path: Path
) -> None:
    with served(name) as url:
        direct = suite.checks_of_server(url, revision, tmp_path / "direct")
    with served(name) as url, tapped(url, tmp_path / "data") as tap:
        through = suite.checks_of_server(tap, revision, tmp_path / "through")
    failing, passing = f"{REJECTED}: FAILURE", f"{REJECTED}: SUCCESS"
    direct[REBINDING] = [passing if check == failing else check for check in direct[REBINDING]]
    assert through == direct
    checks = [check for of_scenario in direct.values() for check in of_scenario]
    good = sum(check.endswith("SUCCESS") for check in checks)
    print(f"{name}, {revision}: {good} of {len(checks)} checks pass, tapped or not")  # noqa: T201
    assert good > 10  # the least: of one that does not know the revision
    assert list((tmp_path / "data" / "recordings" / "live").glob("*.mcprec"))


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_says_the_same_of_a_client_behind_a_tap(
    suite: Suite, revision: str, tmp_path: Path
) -> None:
    scenarios = [name for name in suite.scenarios(revision) if not name.startswith(OF_SIGN_IN)]
    program = (sys.executable, "-m", "tests.strangers.tapped_client")
    found: dict[str, tuple[int, int, int]] = {}
    for name in scenarios:
        folder = tmp_path / name.replace("/", "-")
        direct = suite.verdict(name, revision, folder / "direct")
        client = (*program, str(folder / "data"))
        through = suite.verdict(name, revision, folder / "through", client)
        assert through.is_good, f"{name}: {through.passed} of {through.checks}\n{through.output}"
        assert through[:3] == direct[:3], f"{name}\n{through.output}\n{direct.output}"
        found[name] = direct[:3]
    checks = sum(passed for passed, _, _ in found.values())
    print(f"{revision}: {len(found)} scenarios, {checks} checks, tapped or not")  # noqa: T201
    assert len(found) > 3
