"""The list of tools: whole and exact for programs, safe and readable for people."""

import json
from typing import Any

from mcp_progress_monitor.cli.calls.listings import document, tools_listing
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.offers import read_tools
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot


def server(*tools: dict[str, Any]) -> ServerSnapshot:
    return ServerSnapshot(
        name="local-db",
        definition=StdioDefinition(name="local-db", command="unused"),
        revision="2025-11-25",
        era=Era.HANDSHAKE,
        server_info={"name": "Database"},
        tools=tuple(read_tools({"tools": list(tools)}).items),
    )


EXPORT = {
    "name": "export",
    "title": "Export orders",
    "description": "Writes orders to a file.\nSlowly.",
    "inputSchema": {
        "type": "object",
        "required": ["region"],
        "properties": {
            "region": {"type": "string", "enum": ["eu", "us"], "description": "Which ones"},
            "limit": {"type": ["integer", "null"], "default": None},
            "anything": True,
        },
    },
    "futureMember": [1.0],
}


def _document(server: ServerSnapshot) -> str:
    return document(server, {"tools": [tool.raw for tool in server.tools]})


def test_a_tool_is_listed_with_all_that_a_caller_needs() -> None:
    assert tools_listing(server(EXPORT)).splitlines() == [
        "export (Export orders)",
        "  Writes orders to a file.",
        "  Slowly.",
        '    --arg region=string  required; one of ["eu","us"]; Which ones',
        "    --arg limit=integer or null  default null",
        "    --arg anything=any",
    ]


def test_a_server_without_tools_is_reported() -> None:
    assert tools_listing(server()) == "Database has no tools.\n"
    unread = server()._replace(error=ErrorDetails("The server refused tools/list: no"))
    assert tools_listing(unread) == "No tools of Database could be read.\n"


def test_a_tool_whose_schema_is_too_deep_is_listed_by_its_name_and_written_with_a_message() -> None:
    deep = server({"name": "deep", "inputSchema": Elided(900, is_too_deep=True)})
    assert tools_listing(deep) == "deep\n"
    text = json.loads(_document(deep))["tools"][0]["inputSchema"]
    assert text == "a value of 900 bytes, nested too deeply to decode"


def test_the_document_has_every_member_the_server_sent() -> None:
    found = json.loads(_document(server(EXPORT)))
    assert found["tools"] == [EXPORT]
    assert found["server"] == "local-db"
    assert found["era"] == "handshake"
    assert found["protocolVersion"] == "2025-11-25"
    assert found["serverInfo"] == {"name": "Database"}


def test_server_text_cannot_drive_the_terminal() -> None:
    evil = "a\x1b]0;title\x07\u202e"
    schema = {"properties": {evil: {"type": "string", "description": evil, "default": evil}}}
    tool = {"name": evil, "title": evil, "description": evil, "inputSchema": schema}
    text = tools_listing(server(tool))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"a\x1b]0;title" in text


def test_a_schema_that_is_none_costs_nothing() -> None:
    tool = {"name": "odd", "inputSchema": {"properties": [1], "required": "all"}}
    assert tools_listing(server(tool)) == "odd\n"
