"""The lists of a recorded server."""

from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.servers import ServerSnapshot
from tests.unit.engine.test_recorded_servers import negotiated
from tests.unit.recording.written import Written


@pytest.fixture
def written() -> Written:
    written = Written()
    negotiated(written)
    return written


def _server(written: Written, tmp_path: Path) -> ServerSnapshot:
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    while playback.advance(1):
        pass
    return playback.servers.snapshot("demo")


def _tools(*names: str, **more: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {}} for name in names], **more}


def test_pages_are_joined_and_a_new_list_replaces_them(written: Written, tmp_path: Path) -> None:
    written.send("tools/list", {}, 1)
    written.reply(1, result=_tools("a", "b", nextCursor="c"))
    written.send("tools/list", {"cursor": "c"}, 2)
    written.reply(2, result=_tools("d"))
    assert [tool.name for tool in _server(written, tmp_path).tools] == ["a", "b", "d"]
    written.send("tools/list", {}, 3)
    written.reply(3, result=_tools("e"))
    assert [tool.name for tool in _server(written, tmp_path).tools] == ["e"]


def test_a_list_that_is_not_all_right_is_reported(written: Written, tmp_path: Path) -> None:
    written.send("prompts/list", {}, 1)
    written.reply(1, result={"prompts": [{"name": 5}, {"name": "good"}]})
    server = _server(written, tmp_path)
    assert [prompt.name for prompt in server.prompts] == ["good"]
    assert server.error is not None
    assert "prompts/list" in server.error.what


def test_a_large_list_is_read_whole(written: Written, tmp_path: Path) -> None:
    written.send("resources/list", {}, 1)
    resources = [{"uri": f"x://{n}", "name": "n" * 200} for n in range(8000)]
    written.reply(1, result={"resources": resources})
    assert len(_server(written, tmp_path).resources) == 8000


def test_a_list_that_was_refused_or_breaks_off_is_reported(
    written: Written, tmp_path: Path
) -> None:
    written.send("tools/list", {}, 1)
    written.line(Channel.RECEIVED, b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}')
    server = _server(written, tmp_path)
    assert server.error is not None
    assert server.error.what == "The server refused tools/list (1)"
    assert server.error.detail == "no"


def test_types_of_events_skills_and_the_latest_events_are_read(
    written: Written, tmp_path: Path
) -> None:
    written.send("events/list", {}, 1)
    written.reply(1, result={"events": [{"name": "build.finished"}]})
    written.send("skills/list", {}, 2)
    written.reply(2, result={"skills": [{"uri": "skill://a/SKILL.md", "frontmatter": {}}]})
    event = b'{"jsonrpc":"2.0","method":"notifications/events/event","params":{"eventId":"e"}}'
    written.line(Channel.RECEIVED, event)
    server = _server(written, tmp_path)
    assert [each.name for each in server.events] == ["build.finished"]
    assert [each.uri for each in server.skills] == ["skill://a/SKILL.md"]
    assert [each.params["eventId"] for each in server.latest_events] == ["e"]


def test_events_in_replies_to_polls_are_latest_events_as_well(
    written: Written, tmp_path: Path
) -> None:
    written.send("events/poll", {"name": "build.finished", "cursor": "c"}, 1)
    events = [{"eventId": each, "name": "build.finished"} for each in ("e", "f")]
    written.reply(1, result={"events": [*events, None], "cursor": "d"})
    written.send("tools/call", {"name": "t"}, 2)
    written.reply(2, result={"events": [{"eventId": "of a tool"}]})
    latest = _server(written, tmp_path).latest_events
    assert [each.params["eventId"] for each in latest] == ["e", "f"]
    assert {each.params["name"] for each in latest} == {"build.finished"}


def test_lists_that_the_client_never_asked_for_are_known(written: Written, tmp_path: Path) -> None:
    assert _server(written, tmp_path).unlisted == {"tools/list"}
    written.send("tools/list", {}, 1)
    written.reply(1, result=_tools())
    # The server has neither resources nor prompts: there is nothing to list.
    assert _server(written, tmp_path).unlisted == frozenset()
