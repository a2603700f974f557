"""Traffic to be recorded: what comes over the wire, odd things included, as frames with facts."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import FactRun, Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer

CONNECTIONS = ("demo#1", "ü b%#2")
TOKENS = (7, "7", "t")


class Taken(NamedTuple):
    """What a recorder is handed at once."""

    frames: Sequence[Frame]
    facts: FactRun


def request(token: object = None, identity: object = 1) -> bytes:
    """A call with a progress token, if one is given."""
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": "x", **meta}
    return packed({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params})


def tick(token: object, progress: int = 1) -> bytes:
    """One progress notification."""
    params = {"progressToken": token, "progress": progress}
    return packed({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def reply(identity: object = 1) -> bytes:
    """A result."""
    return packed({"jsonrpc": "2.0", "id": identity, "result": {}})


def packed(value: object) -> bytes:
    """JSON as servers write it."""
    return json.dumps(value, separators=(",", ":")).encode()


class Wire:
    """Connections whose messages a test writes down; a second passes between any two."""

    def __init__(self) -> None:
        self.at = 10.0
        self.ahead = 1_700_000_000.25
        self._numbers = FrameNumbers()
        self._framers = {name: Framer(name, self._numbers) for name in CONNECTIONS}
        self._conversations = {name: Conversation(name) for name in CONNECTIONS}

    def received(self, *lines: bytes, name: str = CONNECTIONS[0]) -> Taken:
        """A chunk from a server; batches are cut."""
        return self._taken(name, self._framers[name].received(lines, *self._now()))

    def run(self, *lines: bytes, name: str = CONNECTIONS[0]) -> Taken:
        """A chunk of whole lines from a server, read at once."""
        return self._taken(name, self._framers[name].run(lines, *self._now()))

    def received_in_slices(self, line: bytes, name: str = CONNECTIONS[0]) -> list[Taken]:
        """One message of many megabytes, as it were."""
        slices = self._framers[name].received_in_slices([line], *self._now())
        return [self._taken(name, frames) for frames in slices if frames]

    def ended_within(self, line: bytes, name: str = CONNECTIONS[0]) -> Taken:
        """A line that the stream ended within."""
        frames = self._framers[name].received([line], *self._now(), is_complete=False)
        return self._taken(name, frames)

    def sent(self, raw: bytes, name: str = CONNECTIONS[0]) -> Taken:
        """A message of ours."""
        return self._taken(name, [self._framers[name].sent(raw, *self._now())])

    def stderr(self, pieces: Iterable[tuple[bytes, bool]], name: str = CONNECTIONS[0]) -> Taken:
        """Lines of stderr, long ones in pieces."""
        now = self._now()
        frames = [
            self._framers[name].stderr(raw, *now)._replace(is_complete=is_complete)
            for raw, is_complete in pieces
        ]
        return self._taken(name, frames)

    def event(self, event: str, name: str = CONNECTIONS[0]) -> Taken:
        """An event of the connection's life."""
        return self._taken(name, [self._framers[name].event(event, *self._now())])

    def _now(self) -> tuple[float, float]:
        self.at = round(self.at + 1.000001, 6)
        return round(self.at + self.ahead, 6), self.at

    def _taken(self, name: str, frames: Sequence[Frame]) -> Taken:
        return Taken(frames, self._conversations[name].read(frames))


_names = st.sampled_from(CONNECTIONS)
_tokens = st.sampled_from(TOKENS)
_junk = st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b""))
_ticks = st.builds(tick, _tokens, st.integers(0, 99))
_elements = st.lists(
    st.one_of(
        _ticks,
        st.builds(reply, st.integers(1, 3)),
        st.sampled_from([b"[1]", b"null", b'"[,"', b" 1", b"{}"]),
    ),
    max_size=5,
)
_batches = st.one_of(
    _elements.map(lambda elements: b" [" + b" ,".join(elements) + b"\t]"),
    _elements.map(lambda elements: b"[" + b",".join(elements) + b"]"),
)
_lines = st.one_of(
    _ticks, _ticks, st.builds(reply, st.integers(1, 3)), _junk, _batches, st.just(b"[LOG] hello\r")
)
_several_lines = st.text("a\\n\n{}", max_size=12).map(str.encode)
_steps = st.one_of(
    st.tuples(st.just("sent"), st.one_of(st.builds(request, _tokens), _several_lines), _names),
    st.tuples(st.just("received"), st.lists(_lines, min_size=1, max_size=8), _names),
    st.tuples(st.just("run"), st.lists(_ticks, min_size=8, max_size=12), _names),
    st.tuples(st.just("run"), st.lists(_lines, min_size=8, max_size=12), _names),
    st.tuples(st.just("sliced"), _batches, st.one_of(_lines, _several_lines)),
    st.tuples(st.just("ended"), _junk, _names),
    st.tuples(
        st.just("stderr"), st.lists(st.tuples(_junk, st.booleans()), min_size=1, max_size=4), _names
    ),
    st.tuples(st.just("event"), st.sampled_from(["opened", "closed"]), _names),
    st.tuples(st.just("clock"), st.sampled_from([0.0001, 60.0]), st.none()),
)


def _act(wire: Wire, kind: str, what: Any, name: str) -> Taken:
    match kind:
        case "received":
            return wire.received(*what, name=name)
        case "run":
            return wire.run(*what, name=name)
        case "sent":
            return wire.sent(what, name)
        case "ended":
            return wire.ended_within(what, name)
        case "stderr":
            return wire.stderr(what, name)
        case _:
            return wire.event(what, name)


def _played(steps: Sequence[tuple[str, Any, Any]]) -> list[Taken]:
    """What a recorder is handed when `steps` happen one after the other."""
    wire, taken = Wire(), []
    for kind, what, more in steps:
        if kind == "sliced":
            first, *others = wire.received_in_slices(what)
            taken += [first, wire.sent(more, CONNECTIONS[1]), *others]
        elif kind == "clock":
            wire.ahead += what
        else:
            taken.append(_act(wire, kind, what, more))
    return taken


traffic = st.lists(_steps, max_size=12).map(_played)
"""Any traffic, as it is handed over to be recorded."""
