"""What a transport needs is there before it is made, and only for whom it is needed."""

import importlib
import sys
import threading

import pytest

from mcp_progress_monitor.sessions.connection.session import prepare
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

pytestmark = pytest.mark.anyio

_HTTP = "mcp_progress_monitor.sessions.transport.http.transport"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What was imported, and whether it was beside the loop; nothing is there before."""
    found: list[tuple[str, bool]] = []

    def note(name: str) -> None:
        is_beside = threading.current_thread() is not threading.main_thread()
        found.append((name, is_beside))

    monkeypatch.delitem(sys.modules, _HTTP, raising=False)
    monkeypatch.setattr(importlib, "import_module", note)
    return found


async def test_the_http_client_is_imported_beside_the_loop(
    imported: list[tuple[str, bool]],
) -> None:
    await prepare(HttpDefinition(name="web", url="http://localhost/mcp"))
    assert imported == [(_HTTP, True)]


async def test_a_process_needs_no_http_client(imported: list[tuple[str, bool]]) -> None:
    await prepare(StdioDefinition(name="s", command="c"))
    assert imported == []
