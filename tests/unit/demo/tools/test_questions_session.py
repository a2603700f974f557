"""Log messages, changed lists and updated resources reach those who asked for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_progress_monitor.demo.call import LEVELS
from mcp_progress_monitor.demo.eras import ERAS, HANDSHAKE_VERSIONS, LOG_LEVEL_STAMP
from mcp_progress_monitor.demo.questions import LISTS
from tests.unit.demo.client import PER_REQUEST, Message, Played
from tests.unit.demo.host import Host

COUNTER = "demo://counter"
QUICK: dict[str, Any] = {"interval_s": 0}


def sent(played: Played, method: str) -> list[Message]:
    return [m["params"] for m in played.messages if m.get("method") == method]


def logged(played: Played) -> list[str]:
    return [params["level"] for params in sent(played, "notifications/message")]


def with_level(host: Host, level: object) -> Played:
    """Log at every level, in a request that wants those from `level` on."""
    message = host.message("tools/call", {"name": "log_levels", "arguments": QUICK})
    message["params"]["_meta"][LOG_LEVEL_STAMP] = level
    return host.send(message)


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_session_gets_what_it_set(version: str) -> None:
    host = Host(version)
    assert logged(host.call("log_levels", **QUICK)) == list(LEVELS)
    assert host.request("logging/setLevel", {"level": "error"}).result == {}
    assert logged(host.call("log_levels", **QUICK)) == list(LEVELS[4:])
    host.check_all()


@pytest.mark.parametrize("level", ["loud", 3, None])
def test_a_level_that_does_not_exist_is_refused(level: object) -> None:
    host = Host()
    assert host.request("logging/setLevel", {"level": level}).error["code"] == -32602
    assert with_level(Host(PER_REQUEST), level).error["code"] == -32602


def test_a_request_gets_what_it_wants() -> None:
    host = Host(PER_REQUEST)
    assert logged(host.call("log_levels", **QUICK)) == []
    assert logged(with_level(host, "warning")) == list(LEVELS[3:])
    assert logged(host.call("log_levels", **QUICK)) == []
    host.check_all()


def test_data_is_text_and_more() -> None:
    data = sent(Host().call("log_levels", **QUICK), "notifications/message")
    assert {type(params["data"]) for params in data} == {dict, str}


@pytest.mark.parametrize("version", ERAS["both"])
@pytest.mark.parametrize("which", LISTS)
def test_a_list_has_an_entry_more_and_then_less(version: str, which: str) -> None:
    host = Host(version)
    lengths = []
    for _ in range(3):
        lengths.append(len(host.request(f"{which}/list").result[which]))
        host.call("change_list", list=which)
    assert lengths[1] == lengths[0] + 1
    assert lengths[2] == lengths[0]
    host.check_all()


def test_what_comes_and_goes_can_be_used() -> None:
    host = Host()
    for which in LISTS:
        host.call("change_list", list=which)
    assert "added by change_list" in host.call("extra_tool").result["content"][0]["text"]
    contents = host.request("resources/read", {"uri": "demo://extra"}).result["contents"]
    assert "added by change_list" in contents[0]["text"]
    assert host.request("prompts/get", {"name": "extra"}).result["messages"]
    host.call("change_list", list="tools")
    assert host.call("extra_tool").error["code"] == -32602


@pytest.mark.parametrize("which", LISTS)
def test_a_session_is_reported_every_change(which: str) -> None:
    method = f"notifications/{which}/list_changed"
    assert sent(Host().call("change_list", list=which), method) == [{}]


@pytest.mark.parametrize("which", LISTS)
def test_only_who_listens_to_that_list_is_reported(which: str) -> None:
    method = f"notifications/{which}/list_changed"
    host = Host(PER_REQUEST)
    assert sent(host.call("change_list", list=which), method) == []
    listener = host.listen(**{LISTS[which]: True})
    (params,) = sent(host.call("change_list", list=which), method)
    assert params["_meta"] == {"io.modelcontextprotocol/subscriptionId": listener}
    for other in set(LISTS) - {which}:
        assert len(host.call("change_list", list=other).messages) == 1
    host.check_all()


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_resource_s_updates_go_to_its_subscribers(version: str) -> None:
    host = Host(version)
    method = "notifications/resources/updated"
    assert sent(host.call("update_resource", **QUICK), method) == []
    assert host.request("resources/subscribe", {"uri": COUNTER}).result == {}
    assert sent(host.call("update_resource", **QUICK), method) == 3 * [{"uri": COUNTER}]
    assert host.request("resources/unsubscribe", {"uri": COUNTER}).result == {}
    assert sent(host.call("update_resource", **QUICK), method) == []
    contents = host.request("resources/read", {"uri": COUNTER}).result["contents"]
    assert contents[0]["text"] == "9"
    host.check_all()


def test_a_resource_s_updates_go_to_who_listens_to_it() -> None:
    host = Host(PER_REQUEST)
    listener = host.listen(resourceSubscriptions=[COUNTER])
    reported = sent(
        host.call("update_resource", times=2, **QUICK), "notifications/resources/updated"
    )
    meta = {"io.modelcontextprotocol/subscriptionId": listener}
    assert reported == 2 * [{"uri": COUNTER, "_meta": meta}]
    host.check_all()


def test_a_listener_of_another_resource_hears_nothing() -> None:
    host = Host(PER_REQUEST)
    host.listen(resourceSubscriptions=["demo://welcome"])
    assert sent(host.call("update_resource", **QUICK), "notifications/resources/updated") == []


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_a_subscription_to_nothing_is_refused(method: str) -> None:
    assert Host().request(method, {"uri": 7}).error["code"] == -32602


def test_the_acknowledgement_comes_first_and_names_what_is_honoured() -> None:
    host = Host(PER_REQUEST)
    listener = host.listen(toolsListChanged=True, novelty=True)
    first = json.loads(host.sink.written.splitlines()[0])
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {"toolsListChanged": True}
    assert first["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": listener}


@pytest.mark.parametrize("wanted", [None, [], {"toolsListChanged": 1}, {"taskIds": "all"}])
def test_a_subscription_of_a_wrong_type_is_refused(wanted: object) -> None:
    params = {"notifications": wanted}
    assert Host(PER_REQUEST).request("subscriptions/listen", params).error["code"] == -32602


def test_a_subscription_ends_when_it_is_cancelled() -> None:
    host = Host(PER_REQUEST)
    params = {"requestId": host.listen(toolsListChanged=True)}
    host.notify("notifications/cancelled", params)
    host.server.join(5)
    host.listener = None
    played = host.call("change_list")
    assert sent(played, "notifications/tools/list_changed") == []
