"""Each request is served in the revision it came in, or refused as that revision wants."""

import pytest

from mcp_progress_monitor.demo.eras import (
    CAPABILITIES_STAMP,
    ERAS,
    HANDSHAKE_VERSIONS,
    SERVER_INFO_STAMP,
    TASKS_EXTENSION,
    VERSION_STAMP,
    Negotiation,
)
from tests.unit.demo.client import PER_REQUEST, STAMPS, Client, Message

COMMON = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "logging": {},
}


def _unopened(era: str = "both", *versions: str) -> Client:
    return Client(negotiation=Negotiation(versions or ERAS[era]), opens=False)


def _bare(client: Client, method: str, meta: object = None) -> dict[str, object]:
    params = {} if meta is None else {"_meta": meta}
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    error: dict[str, object] = client.send(request).error
    return error


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_known_version_is_approved(version: str) -> None:
    client = Client(version, opens=False)
    assert client.open().result["protocolVersion"] == version


@pytest.mark.parametrize("wanted", ["1999-01-01", "2026-07-28", "3000-01-01"])
def test_an_unknown_version_is_countered_with_our_newest(wanted: str) -> None:
    client = Client(wanted, opens=False)
    client.version = wanted
    assert client.open().result["protocolVersion"] == "2025-11-25"


def test_a_server_of_one_version_counters_with_that() -> None:
    client = _unopened("both", "2024-11-05")
    assert client.open().result["protocolVersion"] == "2024-11-05"


def test_a_second_handshake_is_refused() -> None:
    assert Client().open().error["code"] == -32600


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
def test_an_incomplete_handshake_is_refused(missing: str) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    del params[missing]
    error = _unopened().request("initialize", params).error
    assert error["code"] == -32602
    assert missing in error["message"]


def test_requests_wait_for_the_end_of_the_handshake() -> None:
    client = _unopened("handshake")
    assert _bare(client, "tools/list")["code"] == -32600
    client.open()
    assert client.request("tools/list").result["tools"]


def test_a_ping_may_come_before_the_handshake() -> None:
    assert _unopened().request("ping").result == {}


def test_a_stamped_request_needs_no_handshake() -> None:
    client = Client(PER_REQUEST)
    result = client.request("tools/list").result
    assert result["resultType"] == "complete"
    assert result["ttlMs"] > 0
    assert result["_meta"][SERVER_INFO_STAMP]["name"] == "mcp-progress-demo"


def test_a_plain_result_in_the_handshake_era_has_none_of_the_new_members() -> None:
    assert set(Client().request("tools/list").result) == {"tools"}


def test_both_eras_share_one_connection() -> None:
    client = Client()
    assert "resultType" not in client.request("tools/list").result
    assert "resultType" in client.request("tools/list", {"_meta": STAMPS}).result


def test_discovery_names_what_is_served() -> None:
    result = Client(PER_REQUEST).request("server/discover").result
    assert result["supportedVersions"] == [PER_REQUEST]
    assert result["capabilities"] == {**COMMON, "extensions": {TASKS_EXTENSION: {}}}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_only_the_last_revision_with_a_handshake_has_tasks(version: str) -> None:
    capabilities = Client(version, opens=False).open().result["capabilities"]
    tasks = capabilities.pop("tasks", None)
    assert capabilities == COMMON
    expected: Message = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert tasks == (expected if version == "2025-11-25" else None)


@pytest.mark.parametrize("version", ERAS["both"])
def test_a_server_without_tasks_says_so_and_knows_none(version: str) -> None:
    declared: Message = {"extensions": {TASKS_EXTENSION: {}}}
    negotiation = Negotiation(ERAS["both"], offers_tasks=False)
    client = Client(version, negotiation=negotiation, capabilities=declared)
    assert client.request("tasks/get", {"taskId": "a"}).error["code"] == -32601
    arguments = {"steps": 1, "interval_s": 0}
    params = {"name": "task_work", "arguments": arguments, "task": {}}
    assert client.request("tools/call", params).result["content"]
    if version == PER_REQUEST:
        assert client.request("server/discover").result["capabilities"] == COMMON


@pytest.mark.parametrize(
    ("method", "versions"),
    [
        ("logging/setLevel", HANDSHAKE_VERSIONS),
        ("resources/subscribe", HANDSHAKE_VERSIONS),
        ("resources/unsubscribe", HANDSHAKE_VERSIONS),
        ("subscriptions/listen", (PER_REQUEST,)),
        ("tasks/get", ("2025-11-25", PER_REQUEST)),
        ("tasks/cancel", ("2025-11-25", PER_REQUEST)),
        ("tasks/update", (PER_REQUEST,)),
        ("tasks/result", ("2025-11-25",)),
        ("tasks/list", ("2025-11-25",)),
    ],
)
def test_a_method_exists_only_where_its_revision_has_it(
    method: str, versions: tuple[str, ...]
) -> None:
    for version in ERAS["both"]:
        reply = Client(version).request(method).reply
        is_unknown = reply.get("error", {}).get("code") == -32601
        assert is_unknown is (version not in versions), version


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_an_unknown_stamp_is_refused_with_what_there_is(method: str) -> None:
    error = _bare(_unopened(), method, {**STAMPS, VERSION_STAMP: "1900-01-01"})
    assert error["code"] == -32022
    assert error["data"] == {
        "supported": [PER_REQUEST, *reversed(HANDSHAKE_VERSIONS)],
        "requested": "1900-01-01",
    }


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {CAPABILITIES_STAMP: {}},
        {VERSION_STAMP: PER_REQUEST},
        {VERSION_STAMP: PER_REQUEST, CAPABILITIES_STAMP: []},
        {VERSION_STAMP: 2026, CAPABILITIES_STAMP: {}},
        [],
    ],
)
def test_missing_stamps_are_refused(meta: object) -> None:
    assert _bare(_unopened("per-request"), "server/discover", meta)["code"] == -32602


def test_a_server_without_a_handshake_says_which_versions_it_has() -> None:
    error = _unopened("per-request").open().error
    assert error["code"] == -32022
    assert error["data"] == {"supported": [PER_REQUEST], "requested": "2025-11-25"}


def test_a_server_of_the_handshake_era_knows_no_discovery() -> None:
    assert _bare(_unopened("handshake"), "server/discover", STAMPS)["code"] == -32601


def test_there_is_no_ping_in_the_per_request_era() -> None:
    assert Client(PER_REQUEST).request("ping").error["code"] == -32601


def test_a_missing_resource_has_the_code_of_its_era() -> None:
    params = {"uri": "demo://nothing"}
    assert Client().request("resources/read", params).error["code"] == -32002
    assert Client(PER_REQUEST).request("resources/read", params).error["code"] == -32602


def test_the_first_revision_has_no_messages_in_progress() -> None:
    old, new = Client("2024-11-05"), Client("2025-03-26")
    assert "message" not in old.call("known_total", steps=1, interval_s=0).ticks[0]
    assert "message" in new.call("known_total", steps=1, interval_s=0).ticks[0]
