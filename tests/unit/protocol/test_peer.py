"""Our own side: ids, tokens, exact messages."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestMade
from mcp_progress_monitor.protocol.messages import CLIENT_KEY, VERSION_KEY
from mcp_progress_monitor.protocol.peer import AUTO, Peer, TokenChoice, TokenSource
from tests.unit.protocol.wire import JSON, TEXT, Wire, result

CLIENT = ClientIdentity({"name": "monitor", "version": "1"}, {})


def _peer() -> Peer:
    return Peer(TokenSource(now_ms=5))


def _sent(raw: bytes) -> dict[str, Any]:
    message = json.loads(raw)
    assert isinstance(message, dict)
    return message


@pytest.mark.requirement("FR-2")
def test_a_request_carries_its_token_in_meta() -> None:
    out = _peer().request("tools/call", {"name": "n", "arguments": {}}, "abc")
    assert (out.id, out.token) == (1, "abc")
    assert out.raw == (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"n","arguments":{},"_meta":{"progressToken":"abc"}}}'
    )


@pytest.mark.requirement("FR-1")
@pytest.mark.parametrize("token", ["abc", "", "7", 7, 0, -1, 2**70])
def test_strings_and_integers_are_sent_as_they_are(token: TokenChoice) -> None:
    out = _peer().request("tools/call", {}, token)
    found = _sent(out.raw)["params"]["_meta"]["progressToken"]
    assert (found, type(found)) == (token, type(token))
    assert out.token == token


def test_no_token_means_no_token() -> None:
    out = _peer().request("tools/list", None, None)
    assert out.token is None
    assert out.raw == b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@pytest.mark.requirement("FR-1")
def test_tokens_of_our_own_are_unique_and_carry_the_time() -> None:
    peer = _peer()
    outs = [peer.request("tools/call", {}, AUTO, now_ms=1700) for _ in range(1000)]
    assert len({out.token for out in outs}) == 1000
    assert outs[0].token == "prog-1700-1"
    assert _sent(outs[0].raw)["params"] == {"_meta": {"progressToken": "prog-1700-1"}}


def test_ids_count_up_and_are_never_used_twice() -> None:
    wire, peer = Wire(), _peer()
    first = peer.request("ping", None, None)
    wire.send(first.raw)
    (answer,) = wire.receive(result(first.id))
    assert isinstance(answer, RequestAnswered)
    peer.answered(answer)
    peer.cancel(peer.request("ping", None, None).id)
    assert [peer.request("ping", None, None).id for _ in range(3)] == [3, 4, 5]


@given(st.dictionaries(TEXT, JSON, max_size=3), st.dictionaries(TEXT, JSON, max_size=3))
def test_nothing_of_the_caller_is_lost(params: dict[str, Any], meta: dict[str, Any]) -> None:
    params.pop("_meta", None)
    meta.pop("progressToken", None)
    peer = _peer()
    peer.stamps = eras.stamps("2026-07-28", CLIENT)
    sent = _sent(peer.request("tools/call", {**params, "_meta": meta}, "t").raw)["params"]
    assert sent.pop("_meta") == {**peer.stamps, **meta, "progressToken": "t"}
    assert sent == params
    assert list(sent) == list(params)


def test_a_token_in_the_callers_meta_counts_as_chosen() -> None:
    params = {"_meta": {"progressToken": "own"}}
    for token in (AUTO, None, "own"):
        assert _peer().request("tools/call", params, token).token == "own"
    assert params == {"_meta": {"progressToken": "own"}}
    with pytest.raises(UserError, match="given twice"):
        _peer().request("tools/call", params, "other")


def test_every_request_of_the_per_request_era_is_stamped_and_nothing_else_is() -> None:
    peer = _peer()
    peer.stamps = eras.stamps("2026-07-28", CLIENT, "info")
    assert _sent(peer.request("tools/list", None, None).raw)["params"] == {"_meta": peer.stamps}
    assert "_meta" not in _sent(peer.notify("notifications/x", {"a": 1}))["params"]
    assert "_meta" not in _sent(peer.cancel(1))["params"]


def test_stamps_of_the_caller_win() -> None:
    peer = _peer()
    peer.stamps = eras.stamps("2026-07-28", CLIENT)
    own = {"_meta": {VERSION_KEY: "2099-01-01"}}
    sent = _sent(peer.request("server/discover", own, None).raw)["params"]["_meta"]
    assert sent[VERSION_KEY] == "2099-01-01"
    assert sent[CLIENT_KEY] == CLIENT.info


def test_a_token_in_use_is_refused_by_type_and_value() -> None:
    peer = _peer()
    peer.request("tools/call", {}, 7)
    peer.request("tools/call", {}, "7")
    with pytest.raises(UserError, match="The progress token 7 is in use by the pending request 1"):
        peer.request("tools/call", {}, 7)
    assert peer.pending_count == 2
    assert peer.request("tools/call", {}, 7, allow_duplicate=True).id == 3


@pytest.mark.parametrize("end", ["answer", "cancel", "close"])
def test_a_token_is_free_again_when_its_request_has_ended(end: str) -> None:
    wire, peer = Wire(), _peer()
    out = peer.request("tools/call", {}, "a")
    wire.send(out.raw)
    if end == "answer":
        (answer,) = wire.receive(result(out.id))
        assert isinstance(answer, RequestAnswered)
        peer.answered(answer)
    elif end == "cancel":
        peer.cancel(out.id)
    else:
        peer.closed()
    assert peer.pending_count == 0
    assert peer.request("tools/call", {}, "a").token == "a"


def test_the_token_of_a_running_task_is_refused() -> None:
    wire = Wire()
    peer = Peer(TokenSource(now_ms=5), wire.conversation.is_token_active)
    wire.send(peer.request("tools/call", {}, "a").raw)
    answer, _ = wire.receive(result(1, task={"taskId": "T", "status": "working"}))
    assert isinstance(answer, RequestAnswered)
    peer.answered(answer)
    with pytest.raises(UserError, match="a task that is still running"):
        peer.request("tools/call", {}, "a")


@pytest.mark.parametrize("token", [True, 1.5, ["a"], {}])
def test_a_token_of_a_wrong_type_is_refused(token: Any) -> None:
    with pytest.raises(UserError, match="neither a string nor an integer"):
        _peer().request("tools/call", {}, token)
    with pytest.raises(UserError, match="neither a string nor an integer"):
        _peer().request("tools/call", {"_meta": {"progressToken": token}})


def test_what_cannot_be_written_is_refused_and_uses_up_no_id() -> None:
    peer = _peer()
    with pytest.raises(UserError, match="cannot be represented as JSON"):
        peer.request("tools/call", {"arguments": {"x": float("nan")}})
    with pytest.raises(UserError, match="_meta is 5, not an object"):
        peer.request("tools/call", {"_meta": 5})
    assert peer.pending_count == 0
    assert peer.request("ping", None, None).id == 1


def test_notifications_replies_and_cancellings_are_exact() -> None:
    peer = _peer()
    assert peer.notify("notifications/initialized") == (
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    )
    assert peer.respond("s-1", {}) == b'{"jsonrpc":"2.0","id":"s-1","result":{}}'
    assert peer.refuse(0, -32601, "Unknown: x") == (
        b'{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Unknown: x"}}'
    )
    assert _sent(peer.refuse(0, -1, "x", {"a": 1}))["error"]["data"] == {"a": 1}
    assert peer.cancel(7, "Cancelled by the user") == (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
        b'"params":{"requestId":7,"reason":"Cancelled by the user"}}'
    )
    assert _sent(peer.cancel(7))["params"] == {"requestId": 7}


def test_the_conversation_reads_what_the_peer_writes() -> None:
    wire, peer = Wire(), _peer()
    for token in ("a", 0, None, AUTO):
        out = peer.request("tools/call", {"name": "x"}, token)
        made = wire.send(out.raw)
        assert isinstance(made, RequestMade)
        assert (made.id, made.token, texts(made.findings)) == (out.id, out.token, ())


@pytest.mark.parametrize("params", [None, {}, {"a": 1}, {"_meta": {"x": {}}}])
def test_members_are_written_as_they_stand(params: dict[str, object] | None) -> None:
    peer = Peer(TokenSource(0))
    raw = peer.request("m", params, None, verbatim={"s": b'"\\u00e9 "', "t": b"[1 ,2]"}).raw
    assert raw.endswith(b'"s":"\\u00e9 ","t":[1 ,2]}}')
    assert json.loads(raw)["params"] == {**(params or {}), "s": "\u00e9 ", "t": [1, 2]}


def test_half_a_surrogate_pair_is_sent_as_its_escape() -> None:
    half = "a\ud83d"
    assert _peer().respond(half, {}) == b'{"jsonrpc":"2.0","id":"a\\ud83d","result":{}}'
    made = _peer().request("tools/call", {"arguments": {"x": half}}, half)
    assert json.loads(made.raw)["params"] == {
        "arguments": {"x": half},
        "_meta": {"progressToken": half},
    }
