"""The pytest fixture `mcp_session_check`, for authors of MCP servers.

pytest loads this module in every run of an environment that has the program, so it imports nothing
of it. What the fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

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
