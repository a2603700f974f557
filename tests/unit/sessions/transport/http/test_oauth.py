"""Signing in without the extra that it needs: the error says what to install."""

import sys
from typing import Any

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.transport.http import oauth
from mcp_progress_monitor.snapshots.definitions import HttpDefinition

pytestmark = pytest.mark.anyio
_FLOW = "mcp_progress_monitor.sessions.transport.http.oauth_flow"


class _Means:
    keyring = None
    asked = ()


async def test_without_the_sdk_the_error_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, _FLOW, raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.client.auth", None)
    definition = HttpDefinition(name="cloud", url="https://a.example/mcp", auth="oauth")
    means: Any = _Means()
    with pytest.raises(UserError) as caught:
        await oauth.auth_for(definition, means, "cloud")

    assert caught.value.details.what == "Signing in needs the MCP SDK, which is not installed"
    assert 'pip install "mcp-progress-monitor[oauth]"' in caught.value.details.hint


async def test_a_server_with_headers_alone_needs_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    means: Any = _Means()
    definition = HttpDefinition(name="cloud", url="https://a.example/mcp")

    assert await oauth.auth_for(definition, means, "cloud") is None
