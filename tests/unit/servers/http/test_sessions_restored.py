"""What a server goes on with that another one left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.http.journal import Archive, FolderTakenError
from tests.unit.servers.http.site import Client, called, request, running

if TYPE_CHECKING:
    from pathlib import Path


def _options(folder: Path) -> tuple[str, ...]:
    return ("--resumable", "--state-dir", str(folder))


def _begun(client: Client, tool: str, ticks: int, **arguments: object) -> str:
    """Call a tool, read some ticks, hang up, and return the id of the last event."""
    body = json.dumps(called(tool, 5, **arguments)).encode()
    response = client.begin("POST", "/mcp", body)
    event_id = ""
    while not event_id.endswith(f"-{ticks}"):
        line = response.readline().decode()
        assert line, "the stream has ended"
        if line.startswith("id: "):
            event_id = line[4:].strip()
    response.close()
    return event_id


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("known_total", {"steps": 8, "interval_s": 0.05}),
        ("worker", {"items": 8, "items_per_s": 20}),
        ("stall", {"before": 2, "after": 6, "interval_s": 0.05, "silence_s": 0}),
    ],
)
def test_a_running_call_goes_on_where_it_was(
    tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        event_id = _begun(client, tool, 3, **arguments)
        session = client.session
    with running(*_options(tmp_path)) as client:
        client.session = session
        rest = client.request("GET", Last_Event_ID=event_id)
        whole = client.request("GET", Last_Event_ID=f"{event_id.rpartition('-')[0]}-0")
    assert rest.ticks == [4, 5, 6, 7, 8]
    assert whole.ticks == [1, 2, 3, 4, 5, 6, 7, 8]
    assert rest.messages[-1]["id"] == 5
    assert "result" in rest.messages[-1]


def test_a_call_that_cannot_go_on_is_answered_with_an_error(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        event_id = _begun(client, "never_answers", 2, interval_s=0)
        session = client.session
    with running(*_options(tmp_path)) as client:
        client.session = session
        rest = client.request("GET", Last_Event_ID=event_id)
    assert "restarted" in rest.messages[-1]["error"]["message"]


def test_a_session_is_known_after_a_restart_with_its_subscriptions(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open("2025-06-18")
        client.post(request("resources/subscribe", {"uri": "demo://counter"}))
        session = client.session
    with running(*_options(tmp_path)) as client:
        client.session = session
        told = client.call("update_resource", 2, times=1, interval_s=0)
    assert "notifications sent: 1" in told.messages[-1]["result"]["content"][0]["text"]


def test_what_has_ended_can_be_replayed_after_two_restarts(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        first = client.call("known_total", 2, steps=3, interval_s=0)
        session = client.session
    for _ in range(2):
        with running(*_options(tmp_path)) as client:
            client.session = session
            again = client.request("GET", Last_Event_ID=first.events[1]["id"])
            assert again.messages == first.messages[1:]


def test_a_session_that_was_ended_is_not_restored(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        client.request("DELETE")
        session = client.session
    with running(*_options(tmp_path)) as client:
        client.session = session
        assert client.post(request("ping")).status == 404


def test_a_line_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        event_id = _begun(client, "known_total", 2, steps=4, interval_s=0.05)
        session = client.session
    (folder,) = [path for path in (tmp_path / "http").iterdir() if path.is_dir()]
    with (folder / f"{event_id.rpartition('-')[0]}.jsonl").open("ab") as file:
        file.write(b'{"jsonrpc":"2.0","meth')
    with running(*_options(tmp_path)) as client:
        client.session = session
        rest = client.request("GET", Last_Event_ID=event_id)
    assert rest.ticks == [3, 4]


def test_files_are_the_users_alone(tmp_path: Path) -> None:
    with running(*_options(tmp_path)) as client:
        client.open()
        client.call("known_total", 2, steps=1, interval_s=0)
        folder = tmp_path / "http"
        modes = {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))}
    assert modes == {0}


def test_a_folder_belongs_to_one_server_at_a_time(tmp_path: Path) -> None:
    first = Archive(tmp_path)
    with pytest.raises(FolderTakenError, match="another server"):
        Archive(tmp_path)
    first.close()
    Archive(tmp_path).close()
