"""The pytest fixtures `mcp_session_check` and `mcp_recorded_server`, for servers and clients.

pytest loads this module in every run of an environment that has the program, so it imports nothing
of it. What a fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.serving.fixture import RecordedServers
    from mcp_progress_monitor.session_check import SessionCheck


@pytest.fixture
def mcp_session_check(tmp_path: Path) -> SessionCheck:
    """Calls the tools of a server, records the session in `tmp_path`, and checks it by the rules.

    with mcp_session_check([sys.executable, "server.py"]) as session:
        session.call("export", {"count": 3})
    session.assert_no_findings(level="error")
    """
    from mcp_progress_monitor.session_check import SessionCheck

    return SessionCheck(tmp_path)


@pytest.fixture
def mcp_recorded_server() -> Iterator[RecordedServers]:
    """Lets recordings play their servers, to test a client without them.

    server = mcp_recorded_server("night.mcprec")
    client = start(*server.command)  # or connect to server.url
    """
    from mcp_progress_monitor.serving.fixture import RecordedServers

    servers = RecordedServers()
    yield servers
    servers.close()
