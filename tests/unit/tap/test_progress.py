"""Progress for clients that do not ask: only requests without a token change, and only there."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tap import progress
from mcp_progress_monitor.tap.journal import JournalLane
from mcp_progress_monitor.tap.progress import (
    ClientChange,
    LineChange,
    ProgressRequests,
    ServerChange,
)
from mcp_progress_monitor.tap.ring import CHANGED, DATA, ChangedLine


class Lane(JournalLane):
    """Takes what is recorded."""

    def __init__(self) -> None:
        self.recorded = b""
        self.changed: list[ChangedLine] = []

    def take(self, at: float, data: bytes, kind: int = DATA) -> None:
        if kind == CHANGED:
            line = data = ChangedLine.unpack(data)
            self.changed.append(line)
        self.recorded += data


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}


def raw(message: Any, **how: Any) -> bytes:
    return json.dumps(message, **how).encode()


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": "a"},
        {"_meta": {}},
        {"name": "a", "_meta": {"x": 1}, "arguments": {"_meta": 1, "params": {}}},
        {"arguments": {"t": 'a"{}[]\\', "params": [1, 2]}},
    ],
)
@pytest.mark.parametrize(
    "how", [{}, {"separators": (",", ":")}, {"indent": None, "sort_keys": True}]
)
def test_a_token_is_added_and_nothing_else(
    method: str, params: dict[str, Any], how: dict[str, Any]
) -> None:
    requests = ProgressRequests()
    message = {**CALL, "method": method, "params": params}
    changed = requests.with_token(raw(message, **how))
    assert changed is not None
    found = json.loads(changed)
    token = found["params"]["_meta"].pop("progressToken")
    assert token == f"{requests.prefix}1"
    if "_meta" not in params:
        del found["params"]["_meta"]
    assert found == message


@pytest.mark.parametrize(
    "line",
    [
        raw({**CALL, "params": {"_meta": {"progressToken": 1}}}),
        raw({**CALL, "params": {"_meta": {"progressToken": None}}}),
        raw({**CALL, "params": {"_meta": {"progressT\\u006fken": 1}}}).replace(b"\\\\", b"\\"),
        raw({**CALL, "params": {"_meta": 7}}),
        raw({**CALL, "params": [1]}),
        raw({**CALL, "params": None}),
        raw({**CALL, "method": "tools/list"}),
        raw({**CALL, "id": None}),
        raw([CALL]),
        raw({"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call"}}),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"b"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{},"_meta":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"count":NaN}}',
        b'{"method":' + b"[" * 100_000,
        b"",
        b"{}",
        b"\x00\xff",
    ],
)
def test_other_lines_pass_byte_for_byte(line: bytes) -> None:
    assert ProgressRequests().with_token(line) is None
    lane = Lane()
    change = ClientChange(ProgressRequests(), lane)
    assert change.feed(line + b"\r\n") == line + b"\r\n" == lane.recorded
    assert lane.changed == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("call", [CALL, {**CALL, "id": "ä", "params": {"ö": 1, "_meta": {}}}])
def test_both_forms_of_a_request_are_recorded(call: dict[str, Any], end: bytes) -> None:
    lane = Lane()
    sent = raw(call, ensure_ascii=False) + end
    assert ClientChange(ProgressRequests(), lane).feed(b"1\n" + sent + b"2\n") == lane.recorded
    (line,) = lane.changed
    assert (line.sent, line.number) == (sent, 2)
    assert lane.recorded == b"1\n" + line + b"2\n"


class Pairs(tuple[tuple[str, Any], ...]):
    """An object whose names may repeat."""

    __slots__ = ()


_NAMES = ("_meta", "params", "id", "method", "progress Token", 'a"_meta":{', "a/\\", "ä", "")
_METHODS = ("tools/call", "resources/read", "prompts/get")


def _request(chance: Random) -> Pairs:
    """A request, probably a valid one, with its members in any order."""

    def value(depth: int = 0) -> Any:
        match chance.randrange(7 if depth < 3 else 5):
            case 5:
                return [value(depth + 1) for _ in range(chance.randrange(3))]
            case 6:
                return members(depth + 1)
        return chance.choice([None, True, -1, 1.5e30, *_NAMES])

    def members(depth: int) -> Pairs:
        return Pairs((chance.choice(_NAMES), value(depth)) for _ in range(chance.randrange(4)))

    meta = [("_meta", members(0))] * chance.randrange(2)
    found = [
        ("jsonrpc", "2.0"),
        ("id", chance.choice([0, 7, "", "a"])),
        ("method", chance.choice(_METHODS)),
        ("params", Pairs([*members(0), *meta, *members(0)])),
        *[(chance.choice(_NAMES), value())] * (chance.random() < 0.3),
    ]
    chance.shuffle(found)
    return Pairs(found)


def _spelt(value: Any, blank: str, *, is_ascii: bool) -> str:
    """JSON, with blanks wherever they may be."""

    def spelt(value: Any) -> str:
        if isinstance(value, Pairs):
            members = (f"{spelt(name)}{blank}:{blank}{spelt(each)}" for name, each in value)
            return f"{{{blank}{f'{blank},{blank}'.join(members)}{blank}}}"
        if isinstance(value, list):
            return f"[{blank}{f'{blank},{blank}'.join(map(spelt, value))}{blank}]"
        return json.dumps(value, ensure_ascii=is_ascii)

    return spelt(value)


def _needs_token(request: Pairs) -> bool:
    """Tell whether a token belongs into a request with an id, as its members say."""
    names, members = [name for name, _ in request], dict(request)
    params = members["params"]
    if any(names.count(name) > 1 for name in ("id", "method", "params")):
        return False
    if any(isinstance(value, list | Pairs) for name, value in request if name != "params"):
        return False
    metas = [value for name, value in params if name == "_meta"]
    return not metas or (isinstance(metas[0], Pairs) and len(dict(params)) == len(params))


@pytest.mark.parametrize("blank", ["", " ", "\r\t"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_token_is_added_at_its_place_or_nothing_is_changed(blank: str, is_ascii: bool) -> None:
    chances = (Random(seed) for seed in range(200))  # noqa: S311
    added = [_is_added(_request(chance), blank, is_ascii=is_ascii) for chance in chances]
    assert 40 < sum(added) < 160


def _is_added(request: Pairs, blank: str, *, is_ascii: bool) -> bool:
    requests = ProgressRequests()
    line = _spelt(request, blank, is_ascii=is_ascii).encode()
    addition = requests.addition(line)
    if addition is None:
        has_escapes = b"\\" in line  # in a name before the place: the line passes
        assert has_escapes or not _needs_token(request)
        return False
    assert _needs_token(request)
    place, added = addition
    assert requests.prefix.encode() in added
    changed = json.loads(line[:place] + added + line[place:], object_pairs_hook=Pairs)
    token = Pairs([("progressToken", f"{requests.prefix}1")])
    params = dict(request)["params"]
    if "_meta" in dict(params):
        asked = [(name, Pairs(token + v) if name == "_meta" else v) for name, v in params]
    else:
        asked = [("_meta", token), *params]
    assert changed == tuple((n, Pairs(asked) if n == "params" else v) for n, v in request)
    return True


def test_progress_for_our_tokens_is_recorded_and_kept_back() -> None:
    requests = ProgressRequests()
    lane = Lane()
    change = ServerChange(requests, lane)
    params = {"progressToken": f"{requests.prefix}1", "progress": 1}
    ours = raw({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + b"\n"
    theirs = ours.replace(requests.prefix.encode(), b"x")
    reply = raw({"jsonrpc": "2.0", "id": 1, "result": {"token": params["progressToken"]}}) + b"\n"
    assert change.feed(ours + theirs + reply + ours) == theirs + reply
    assert lane.recorded == ours + theirs + reply + ours


@pytest.mark.parametrize(
    ("line", "is_ours"),
    [
        ('{"jsonrpc":"2.0",$:{"progressToken":"@1"}}', True),
        (
            '{"jsonrpc": "2.0", $: {"progress": 1.5, "message": "Größe {", "progressToken": "@2"}}',
            True,
        ),
        ('{$:{"progressToken":"@1","progress":-1,"total":null},"jsonrpc":"2.0"}\r', True),
        ('{$:{"progressToken":"@1","message":"\\u00e9"}}', True),
        ('{$:{"progressToken":"@1","more":{"a":[]}}}', True),
        ('{"method":"notifications/message","params":{"progressToken":"@1"}}', False),
        ('{"method":"x","params":{"method":"notifications/progress","progressToken":"@1"}}', False),
        ('{$:{"progressToken":"@1","progressToken":"b"}}', False),
        ('{$:{"progressToken":"b","message":"@1"}}', False),
        ('{$:{"progressToken":"@1","progress":01}}', False),
        ('{$:{"progressToken":"@1","message":"\udcff"}}', False),
        ('{$:{"progressToken":"@1"}', False),
        ('[{$:{"progressToken":"@1"}}]', False),
    ],
)
def test_floods_are_judged_as_single_lines_are(line: str, is_ours: bool) -> None:
    requests = ProgressRequests()
    line = line.replace("$", '"method":"notifications/progress","params"')
    one = line.replace("@", requests.prefix).encode(errors="surrogateescape") + b"\n"
    assert requests.is_kept_back(one) is is_ours
    lines = b"{}\n" + 2 * one + b"{}\n"
    lane = Lane()
    passed = ServerChange(requests, lane).feed(lines)
    assert (lane.recorded, passed) == (lines, b"{}\n{}\n" if is_ours else lines)


def test_a_token_that_looks_like_ours_is_the_clients() -> None:
    requests, other = ProgressRequests(), ProgressRequests()
    params = {"progressToken": f"{other.prefix}1", "progress": 1}
    line = raw({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    assert not requests.is_kept_back(line)


def test_a_line_that_is_too_long_passes_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LONGEST", 10)
    lane = Lane()
    change = ClientChange(ProgressRequests(), lane)
    assert change.feed(b"{" + b"a" * 9) == b""
    assert change.feed(b"a" * 5) == b"{" + b"a" * 14
    assert change.feed(b"bc\n{}\nrest") == b"bc\n{}\n"
    assert change.end() == b"rest"
    assert lane.recorded == b"{" + b"a" * 14 + b"bc\n{}\nrest"


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 7))
def test_bytes_that_need_no_change_stay_whole_however_they_are_cut(
    lines: list[bytes], size: int
) -> None:
    whole = b"\n".join(lines)
    for kind in (ClientChange, ServerChange):
        lane = Lane()
        assert _through(kind(ProgressRequests(), lane), whole, size) == whole == lane.recorded


@given(st.integers(1, 50), st.integers(1, 4))
def test_requests_are_changed_however_they_are_cut(size: int, count: int) -> None:
    requests = ProgressRequests()
    whole = (raw(CALL) + b"\n") * count
    found = _through(ClientChange(requests, Lane()), whole, size)
    tokens = [json.loads(line)["params"]["_meta"]["progressToken"] for line in found.splitlines()]
    assert tokens == [f"{requests.prefix}{number}" for number in range(1, count + 1)]


def _through(change: LineChange, whole: bytes, size: int) -> bytes:
    pieces = [change.feed(whole[at : at + size]) for at in range(0, len(whole), size)]
    return b"".join(pieces) + change.end()
