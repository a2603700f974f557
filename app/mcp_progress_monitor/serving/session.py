"""One client of a recording: its requests are answered as they were answered then."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.jsonrpc import canonical, encode
from mcp_progress_monitor.protocol.lenient_json import span_of
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    INITIALIZED,
    META,
    PING,
    PROGRESS_TOKEN,
    SERVER_KEY,
    STREAMS,
)
from mcp_progress_monitor.serving.exchanges import StepKind, key_of, named_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.serving.exchanges import RecordedServer, Step
    from mcp_progress_monitor.serving.faults import ServedFaults
    from mcp_progress_monitor.serving.index import Exchange
    from mcp_progress_monitor.serving.lines import RecordedMessage

_REMOVED: Final = re.compile(rb'"\(removed\)|\(removed\)"|\(hidden, [\d,]{1,20} characters\)')
"""Placeholders for secrets: in exports, and for credentials in every recording."""
_PARSE_ERROR: Final = -32700
_NOT_RECORDED: Final = -32601
_NO_MATCH: Final = -32602
_ENDED: Final = -32603
_SHOWN: Final = 200
_ERROR_SHOWN: Final = 500
_CANCEL_S: Final = 2.0
"""How long a recorded cancel waits for the client's own."""
_BEFORE_REPLY_S: Final = 0.01
"""Clients that read progress together with its reply may lose it, as the TypeScript SDK 1 does."""


@dataclasses.dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a recording is played.

    `times_faster` is relative to the recorded pace; infinite to send everything at once. With
    `is_strict`, a request that was not recorded is an error, however similar another one is.
    """

    times_faster: float = 1.0
    is_strict: bool = False
    allows_redacted: bool = False


def times_faster(speed: str) -> float:
    """The factor that a speed such as `10` or `max` names."""
    return math.inf if speed == "max" else float(speed)


async def passed_on(faults: ServedFaults | None, side: str, raw: bytes) -> list[bytes]:
    """The messages to pass on in the place of one, as a script changes it, if there is one."""
    return [raw] if faults is None else await faults.changed(side, raw)


class Report(Protocol):
    """Gets lines for the user: one about each request, and about the recording."""

    def __call__(self, line: str, *, is_odd: bool = False) -> None:
        """`is_odd` marks what a client may not expect, such as another answer than recorded."""


async def index(server: RecordedServer, report: Report) -> None:
    """Index a recording; report what is wrong with it, and what of it is not served."""
    errors = server.lines.errors
    for error in errors:
        report(_as_line(error.as_text()), is_odd=True)
    await server.index()
    texts = [error.as_text() for error in server.lines.errors[len(errors) :]]
    for text in [*texts, *server.unserved]:
        report(_as_line(text), is_odd=True)


class Outlet(Protocol):
    """Destination of the messages of one request."""

    async def send(self, raw: bytes) -> None:
        """Send one message of the server to the client."""

    def stderr(self, raw: bytes) -> None:
        """Write one line of the server's standard error."""


class Playing:
    """A request that is being played.

    `cancelled` is set by its client, `replied` once its reply was sent or none will be.
    """

    def __init__(self, message: RecordedMessage, outlet: Outlet) -> None:
        self.message = message
        self.outlet = outlet
        self.cancelled = anyio.Event()
        self.replied = anyio.Event()
        self.questions: dict[bytes, anyio.Event] = {}
        """The answers that it waits for, by the JSON of the recorded ids."""
        self.began_at = anyio.current_time()
        token = as_object(message.params.get(META)).get(PROGRESS_TOKEN)
        self.token = token if isinstance(token, str | int) else None

    def cancel(self) -> None:
        self.cancelled.set()
        for answered in self.questions.values():
            answered.set()


class ServedClient:
    """Answers one client's messages."""

    def __init__(
        self, server: RecordedServer, options: ServeOptions, tasks: TaskGroup, report: Report
    ) -> None:
        """Play requests in `tasks`."""
        self._server = server
        self._options = options
        self._tasks = tasks
        self._report = report
        self._turns: dict[bytes, int] = {}
        """How often each request was made."""
        self.initialized = anyio.Event()
        """Set once the client has ended its handshake."""
        self._playing: dict[bytes, Playing] = {}
        self._answers: dict[bytes, anyio.Event] = {}
        """Questions that this client has yet to answer, by the JSON of their ids."""
        self._numbers = itertools.count(1)

    async def take(
        self, messages: Iterable[RecordedMessage | None], outlet: Outlet
    ) -> list[Playing]:
        """Handle messages of the client, as `messages_in` reads them from its bytes.

        Returns the requests among them, which are played from now on.
        """
        playing: list[Playing] = []
        for message in messages:
            if message is None:
                await outlet.send(_error(None, _PARSE_ERROR, "Not a JSON-RPC message"))
            elif message.is_request:
                playing.append(self._begin(message, outlet))
            elif message.is_reply:
                answered = self._answers.pop(canonical(message.id), None)
                if answered is not None:
                    answered.set()
            elif message.method == INITIALIZED:
                self.initialized.set()
            elif message.method == CANCELLED:
                cancelled = self._playing.get(canonical(message.params.get("requestId")))
                if cancelled is not None:
                    cancelled.cancel()
        return playing

    def cancel_all(self) -> None:
        """End everything that is being played, as for a client that is gone."""
        self.initialized.set()
        for playing in self._playing.values():
            playing.cancel()

    def _begin(self, message: RecordedMessage, outlet: Outlet) -> Playing:
        playing = Playing(message, outlet)
        self._playing[canonical(message.id)] = playing
        self._tasks.start_soon(self._answer, playing)
        return playing

    async def _answer(self, playing: Playing) -> None:
        try:
            exchange = await self._found(playing)
            if exchange is not None:
                await _Play(self, playing, exchange, self._options).run(
                    self._server.steps(exchange)
                )
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass  # the client is gone
        finally:
            playing.replied.set()
            if self._playing.get(canonical(playing.message.id)) is playing:
                del self._playing[canonical(playing.message.id)]

    async def _found(self, playing: Playing) -> Exchange | None:
        """The exchange to play; None if the request was answered otherwise."""
        message, outlet = playing.message, playing.outlet
        method, params = message.method, message.params
        what = _shown(method, params)
        if method in {INITIALIZE, DISCOVER}:
            wanted = params.get("protocolVersion")
            revision = wanted if isinstance(wanted, str) else ""
            opening = await self._server.opening(method, revision)
            if opening is None:
                await outlet.send(self._opening(message, revision))
            elif opening.revision and revision and opening.revision != revision:
                self._report(
                    f"{what}: asked for {revision}, recorded is {opening.revision}", is_odd=True
                )
            return opening
        key = key_of(method, params)
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        found = await self._server.find(method, params, turn)
        if found.exchange is not None:
            self._report(what)
            return found.exchange
        if method == PING:
            await outlet.send(_reply(message.id, {}))
            return None
        closest = found.closest
        if closest is None or self._options.is_strict:
            code = _NOT_RECORDED if closest is None else _NO_MATCH
            why = self._missing(method, params, closest)
            self._report(f"{what}: {why}", is_odd=True)
            await outlet.send(_error(message.id, code, why))
            return None
        self._report(f"{what}: not recorded; answered as {self._words(closest)}", is_odd=True)
        return closest

    def _opening(self, message: RecordedMessage, revision: str) -> bytes:
        """The reply to an opening that the recording does not have."""
        server = self._server
        is_per_request = bool(server.revision)
        if (message.method == DISCOVER) is not is_per_request or server.has_opening:
            self._report(f"{message.method}: not in the recording", is_odd=True)
            return _error(message.id, _NOT_RECORDED, f"{message.method} is not in the recording")
        what = f"{message.method}: the recording has no handshake; a minimal one was generated"
        self._report(what, is_odd=True)
        info = server.info or {"name": server.name or "recording", "version": "0"}
        opening: JsonObject = {"capabilities": server.capabilities}
        if is_per_request:
            opening |= {"supportedVersions": [server.revision], "resultType": "complete"}
            opening |= {"ttlMs": 0, "cacheScope": "private", META: {SERVER_KEY: info}}
        else:
            opening |= {"protocolVersion": revision, "serverInfo": info}
        return _reply(message.id, opening)

    def _missing(self, method: str, params: JsonObject, closest: Exchange | None) -> str:
        what = f"The recording has no {_shown(method, params)}"
        if closest is not None:
            return f"{what} with these parameters. The closest is {self._words(closest)}"
        names = ", ".join(self._server.names) if named_by(params) else ""
        return f"{what}. It has: {names}"[: 5 * _SHOWN] if names else what

    def _words(self, exchange: Exchange) -> str:
        params = self._server.request_of(exchange).params
        kept = {name: value for name, value in params.items() if name != META}
        return formatting.one_line(f"{exchange.method} {json.dumps(kept)}", _SHOWN)

    # Questions of the server

    def ask(self, recorded: Any) -> tuple[Any, anyio.Event]:
        """An id for a question, the recorded one if it is not in use; and its answer's event."""
        identity = recorded
        while canonical(identity) in self._answers:
            identity = f"{recorded}-{next(self._numbers)}"
        answered = self._answers[canonical(identity)] = anyio.Event()
        return identity, answered


class _Play:
    """Plays the steps of one exchange for one request."""

    def __init__(
        self, client: ServedClient, playing: Playing, exchange: Exchange, options: ServeOptions
    ) -> None:
        self._client = client
        self._playing = playing
        self._exchange = exchange
        self._options = options
        self._speed = options.times_faster
        self._origin = playing.began_at
        self._is_cancel_played = False
        self._has_ticked = False

    async def run(self, steps: Iterator[Step | None]) -> None:
        """Send what was sent then, at its pace.

        After a cancel follows what followed the recorded one, or nothing if none was recorded.
        """
        playing, outlet = self._playing, self._playing.outlet
        for step in steps:
            if step is None:
                await checkpoint()
                continue
            await self._wait_for(step)
            if playing.cancelled.is_set() and not self._is_cancel_played:
                if step.kind is StepKind.REPLY:
                    return
                self._is_cancel_played = step.kind is StepKind.CANCELLED
                self._restart_clock(step)
            elif step.kind is StepKind.CANCELLED:
                if not await self._is_cancelled_as_well():
                    why = "The recorded client cancelled this request here"
                    await outlet.send(_error(playing.message.id, _ENDED, why))
                    return
                self._is_cancel_played = True
                self._restart_clock(step)
            elif _REMOVED.search(step.raw) and not self._options.allows_redacted:
                why = "The recording's answer has secrets removed. Use --allow-redacted to send it"
                await outlet.send(_error(playing.message.id, _ENDED, why))
                return
            else:
                await self._send(step)
        is_open = not playing.replied.is_set()
        if is_open and playing.message.method in STREAMS:  # until its client ends it
            await playing.cancelled.wait()
        if not (playing.replied.is_set() or playing.cancelled.is_set()):
            why = "The recording has no reply to this request"
            await outlet.send(_error(playing.message.id, _ENDED, why))

    async def _wait_for(self, step: Step) -> None:
        """Wait until a step is due, or the request is cancelled."""
        if math.isinf(self._speed):
            return
        due = self._origin + step.after_s / self._speed
        if self._playing.cancelled.is_set():
            if self._is_cancel_played:
                await anyio.sleep_until(due)
            return
        with anyio.move_on_at(due):
            await self._playing.cancelled.wait()

    async def _is_cancelled_as_well(self) -> bool:
        with anyio.move_on_after(_CANCEL_S):
            await self._playing.cancelled.wait()
        return self._playing.cancelled.is_set()

    def _restart_clock(self, step: Step) -> None:
        """Let what follows a step be due as long after now as it came after that step."""
        self._origin = anyio.current_time() - step.after_s / self._speed

    async def _send(self, step: Step) -> None:
        outlet, playing = self._playing.outlet, self._playing
        match step.kind:
            case StepKind.STDERR:
                outlet.stderr(step.raw)
            case StepKind.TICK:
                if playing.token is not None:
                    keys = ("params", PROGRESS_TOKEN)
                    await outlet.send(_with_value(step.raw, keys, playing.token))
                    self._has_ticked = True
            case StepKind.REPLY:
                if self._has_ticked and self._speed > 1:
                    await anyio.sleep(_BEFORE_REPLY_S)
                await outlet.send(_with_value(step.raw, ("id",), playing.message.id))
                playing.replied.set()
            case StepKind.ASKED:
                identity, answered = self._client.ask(step.id)
                playing.questions[canonical(step.id)] = answered
                await outlet.send(_with_value(step.raw, ("id",), identity))
            case StepKind.ANSWERED:
                await playing.questions[canonical(step.id)].wait()
                self._restart_clock(step)
            case StepKind.INITIALIZED:
                await self._client.initialized.wait()
                self._restart_clock(step)
            case _:
                await outlet.send(step.raw)


def _with_value(raw: bytes, keys: tuple[str, ...], value: Any) -> bytes:
    """The exact bytes of a message, with another value at `keys`."""
    span = span_of(raw, keys)
    if span is None:
        return raw
    return raw[: span[0]] + json.dumps(value).encode() + raw[span[1] :]


def _reply(identity: Any, result: JsonObject) -> bytes:
    return encode({"jsonrpc": "2.0", "id": identity, "result": result})


def _error(identity: Any, code: int, text: str) -> bytes:
    error = {"code": code, "message": f"mcp-progress-monitor serve: {text}"}
    return encode({"jsonrpc": "2.0", "id": identity, "error": error})


def _as_line(text: str) -> str:
    sentences = (line.rstrip(".") for line in text.splitlines())
    return formatting.one_line(". ".join(sentences), _ERROR_SHOWN)


def _shown(method: str, params: JsonObject) -> str:
    name = named_by(params)
    return formatting.one_line(f"{method} {name}" if name else method, _SHOWN)
