"""What is said of servers that are watched, and of what is left to do."""

import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CURSOR, KNOWN, McpClient
from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
from mcp_progress_monitor.catalogue.taps import EntryTap, Launch, TapProgram, wrapper
from mcp_progress_monitor.wording.clients import (
    done_text,
    next_step,
    refusal_text,
    server_title,
    state_text,
)

SERVER = ClientServer(CURSOR, Path("f"), "files", ("mcpServers", "files"), Launch("npx"))


def with_tap(program: str = sys.executable) -> ClientServer:
    return ClientServer(
        CURSOR, Path("f"), "files", ("mcpServers", "files"), tap=EntryTap(program, 3)
    )


@pytest.mark.parametrize("client", KNOWN, ids=[client.key for client in KNOWN])
def test_every_client_has_a_next_step(client: McpClient) -> None:
    assert client.title.split()[-1] in next_step(client)


def test_the_state_of_a_server_is_reported() -> None:
    assert state_text(SERVER) == "not watched"
    assert state_text(with_tap()) == "watched, not running"
    assert state_text(with_tap(), [0.0]).startswith("watched, running since ")
    assert state_text(with_tap(), [0.0, 9.0]).startswith("watched, 2 running since ")
    gone = state_text(with_tap("/gone/x"))
    assert gone == "program not found: /gone/x; the server runs unwatched"


def test_a_server_of_a_project_is_named_with_it() -> None:
    local = ClientServer(CLAUDE_CODE, Path("f"), "a", ("x",), project=Path("/src/p"))
    assert server_title(local) == f"a ({Path('/src/p')})"


def test_a_refusal_names_the_file_to_use_instead() -> None:
    shared = ClientServer(
        CLAUDE_CODE, Path("/p/.mcp.json"), "a", ("x",), why_not="shared", is_shared=True
    )
    assert "claude mcp add-json --scope local" in refusal_text(shared)
    other = ClientServer(CURSOR, Path("f"), "a\n", ("x",), why_not="its entry has no command")
    assert refusal_text(other) == "a\\n: its entry has no command."


def test_what_was_done_is_reported_in_full() -> None:
    lead = wrapper(TapProgram(("/opt/x",)), "files", "Cursor")
    on = {"command": lead.command, "args": [*lead.args, "npx"]}
    off = {"command": "npx"}
    servers = tuple(
        ClientServer(CURSOR, Path("f"), f"s{number}", ("m", f"s{number}")) for number in range(13)
    )
    entries = tuple([(off, on)] * 12 + [(on, off)])
    change = FileChange(CURSOR, Path("f"), b"", b"", servers, entries)
    assert done_text(change, Path("f.before"), by_command=False).splitlines() == [
        "Watched from now on in Cursor: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 2 more.",
        "No longer watched in Cursor: s12.",
        "Backup of the file: f.before",
        next_step(CURSOR),
    ]
    assert "claude mcp" in done_text(change, None, by_command=True)
