"""What is known of a server, as text."""

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import (
    Health,
    Retry,
    ServerSnapshot,
    ServerState,
    SignIn,
    Waiting,
)
from mcp_progress_monitor.wording.servers import (
    about,
    details,
    health_text,
    retry_text,
    waiting_text,
)
from tests.server_stand_ins import server

pytestmark = pytest.mark.usefixtures("qapp")
UP = ServerState.CONNECTED


def test_a_connected_server_says_tools_revision_transport_and_restarts() -> None:
    assert about(server("a", state=UP, revision="2025-11-25")) == "0 tools · 2025-11-25 · stdio"
    assert about(server("a", state=UP, restarts=2)) == "0 tools · stdio · 2 restarts"


@pytest.mark.parametrize(("transport", "word"), [("http", "HTTP"), ("sse", "SSE")])
def test_the_transport_of_a_server_by_url_is_reported(transport: str, word: str) -> None:
    fields = {"name": "a", "url": "https://u:p@example.org/mcp", "transport": transport}
    remote = ServerSnapshot("a", HttpDefinition.model_validate(fields))
    assert about(remote) == f"Not connected · {word}"
    assert "u:p" not in details(remote)


def test_an_error_is_reported_with_a_message() -> None:
    failed = server(
        "a", state=ServerState.FAILED, error=ErrorDetails("Not found", "npx", "Install it")
    )
    assert about(failed) == "Failed: Not found"
    assert details(failed) == "a: Failed\nrun-a --fast\nNot found (npx)\nInstall it"


@pytest.mark.parametrize(
    ("retry", "text"),
    [
        (Retry(2, 5, 14.0), "Restarting in 4 s (2 of 5)"),
        (Retry(1, 5, 10.2), "Restarting in 1 s (1 of 5)"),
        (Retry(3, 5, 9.0), "Restarting now (3 of 5)"),
        (Retry(3, 5, None), "Restarting now (3 of 5)"),
    ],
)
def test_a_restart_is_counted_down(retry: Retry, text: str) -> None:
    assert retry_text(retry, 10.0) == text


def test_what_is_waited_for_is_reported_before_what_went_wrong() -> None:
    error = ErrorDetails("It ended")
    waiting = server("a", state=ServerState.WAITING, retry=Retry(1, 5, 12.0), error=error)
    assert about(waiting, now=10.0) == "Restarting in 2 s (1 of 5) · stdio"
    asked = server("a", state=ServerState.CONNECTING, sign_in=SignIn("a", "https://x"))
    assert about(asked) == "Sign-in needed · stdio"


def test_a_hung_server_is_reported_from_a_slow_one() -> None:
    assert health_text(Health(100.0, 0.1), 115.0, 30.0) == "Silent for 45 s, answers pings"
    assert health_text(Health(100.0, None, is_hung=True), 115.0) == ("Does not answer pings: hung")
    assert "ping sent" in health_text(Health(100.0, None), 101.0)
    hung = server("a", state=UP, health=Health(1.0, None, is_hung=True))
    assert about(hung, now=9.0).startswith("Does not answer pings: hung · ")


def test_a_disabled_server_says_so_and_where_it_came_from() -> None:
    entry = CatalogueEntry(server("a").definition, is_disabled=True, origin="Claude Desktop")
    assert about(server("a"), entry=entry) == "Disabled · stdio"
    assert details(server("a"), entry=entry).splitlines()[-1] == "Imported from Claude Desktop"


@pytest.mark.parametrize("state", list(ServerState))
def test_hostile_words_are_made_visible_in_every_state(state: ServerState) -> None:
    hostile: ServerSnapshot = server("a\u202eb", state=state, revision="x\x00\n")
    assert "\u202e" not in about(hostile) + details(hostile)
    assert "\x00" not in about(hostile)


def test_an_error_does_not_hide_ticks_for_unknown_tokens() -> None:
    failed = server("a", state=ServerState.FAILED, error=ErrorDetails("Not found"))
    assert details(failed, 1).endswith("Not found\n1 tick for unknown tokens")


def test_what_is_waited_for_is_reported_with_a_message() -> None:
    waiting = Waiting("server/discover and initialize", 100.0, 130.0, None)
    assert waiting_text(waiting, 112.0) == (
        "waiting for the answer to server/discover and initialize for 12 s, at most 18 s more"
    )
    noisy = Waiting("", 100.0, 130.0, 110.0)
    assert waiting_text(noisy, 112.0) == (
        "waiting for the server to start for 12 s, at most 18 s more; "
        "it wrote to standard error 2 s ago"
    )
