"""The rules of the events extension, beyond their golden recordings."""

from pathlib import Path
from typing import Any

from tests.golden_sessions import D, E, Golden, Step, client, recording, result, server
from tests.unit.checking.sessions import check_file

_PREFIX = "notifications/events/"
_DECLARED: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/events": {}}}


def _reported(what: str, identity: Any = 2, **params: Any) -> Step:
    meta = {"io.modelcontextprotocol/subscriptionId": identity}
    return server(_PREFIX + what, **params, _meta=meta)


def _stream(identity: Any = 2) -> Step:
    return client("events/stream", identity, name="build.finished")


def _found(tmp_path: Path, *steps: Step, revision: str = E, **more: Any) -> list[tuple[str, str]]:
    path = tmp_path / "session.mcprec"
    more.setdefault("server", _DECLARED)
    path.write_bytes(recording(Golden("", revision, list(steps), [], **more), list(steps)))
    return [(each.rule, each.finding.text) for each in check_file(path)]


def test_only_the_reply_follows_the_termination_of_a_stream(tmp_path: Path) -> None:
    ended = [_stream(), _reported("active"), _reported("terminated", error={"code": -32603})]
    assert _found(tmp_path, *ended, result(2, resultType="complete")) == []
    text = f"{_PREFIX}heartbeat was sent after its stream had ended in message 6"
    assert _found(tmp_path, *ended, _reported("heartbeat")) == [("EVT-2", text)]


def test_an_event_without_an_id_names_no_stream(tmp_path: Path) -> None:
    text = f"{_PREFIX}event does not name a stream that was opened (no id)"
    assert _found(tmp_path, _stream(), server(f"{_PREFIX}event")) == [("EVT-1", text)]


def test_a_new_stream_with_the_id_of_an_ended_one_is_open(tmp_path: Path) -> None:
    ended = [_stream(), _reported("active"), result(2, resultType="complete")]
    again = [*ended, _stream(), _reported("active")]
    assert not {rule for rule, _ in _found(tmp_path, *again)} & {"EVT-1", "EVT-2"}


def test_a_stream_may_have_been_opened_before_the_recording(tmp_path: Path) -> None:
    assert _found(tmp_path, _reported("event"), opening=False) == []
    modern = client("tools/list", 3), result(3, tools=[])
    found = _found(tmp_path, *modern, _reported("event"), opening=False)
    assert "EVT-1" not in {rule for rule, _ in found}


def test_a_client_that_asks_nothing_first_is_not_said_to_know_what_is_declared(
    tmp_path: Path,
) -> None:
    asked = client("events/list", 2), result(2, events=[])
    assert "EVT-3" not in {rule for rule, _ in _found(tmp_path, *asked, opening=False)}
    assert "EVT-3" in {rule for rule, _ in _found(tmp_path, *asked, server={"tools": {}})}


def test_a_client_may_ask_later_what_the_server_declares(tmp_path: Path) -> None:
    called = client("tools/list", 1), result(1, tools=[])
    described = {"supportedVersions": [E], "capabilities": _DECLARED}
    asked = client("server/discover", 2), result(2, **described), client("events/list", 3)
    assert "EVT-3" not in {rule for rule, _ in _found(tmp_path, *called, *asked, opening=False)}


def test_the_handshake_era_has_no_rules_for_events(tmp_path: Path) -> None:
    assert _found(tmp_path, _reported("event"), client("events/list", 2), revision=D) == []


def test_a_webhook_without_an_end_is_for_clients_that_ask_for_it(tmp_path: Path) -> None:
    delivery = {"url": "https://example.com/hook"}
    granted = result(2, id="s", refreshBefore=None)

    def found(**more: Any) -> list[tuple[str, str]]:
        request = client("events/subscribe", 2, name="b", delivery=delivery, **more)
        return _found(tmp_path, request, granted)

    text = "a webhook was granted without an end, but its ttlMs was not null"
    assert found() == found(ttlMs=1000) == [("EVT-4", text)]
    assert found(ttlMs=None) == []
