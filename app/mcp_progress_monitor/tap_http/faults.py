"""Changes messages over HTTP by the rules of a script, to test clients and servers.

As with `tap.faults`, the recording has what was passed on, and an event `changed` with each message
that a rule acted on as it was sent. A delayed message delays only those after it on its stream.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor.protocol.sse import SseParser
from mcp_progress_monitor.tap.script import ScriptRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp_progress_monitor.protocol.sse import SseEvent
    from mcp_progress_monitor.tap.script import Script

_MOST_WAITING: Final = 1000
"""The most delayed pieces of a stream; beyond that, the server has to wait."""
_ONE_ONLY: Final = "not applicable, the body is not an event stream"


class _Piece(NamedTuple):
    """Bytes of a stream with the time at which they are due, or the error that broke it."""

    due: float
    data: bytes
    error: Exception | None = None


class HttpFaults:
    """Applies a script to all exchanges of a tap."""

    may_drop = True

    def __init__(self, script: Script) -> None:
        self._run = ScriptRun(script)
        self._numbers = {side: itertools.count(1) for side in ("client", "server")}
        self._exchanges = itertools.count(1)

    def opening(self) -> dict[str, object]:
        return self._run.opening()

    def exchange(
        self,
        session: str,
        note: Callable[[dict[str, object]], None],
        _keep_back: Callable[[bytes], None],
    ) -> FaultyExchange:
        """The changes to one request of a session and its response; `note` records one."""
        scopes = (f"exchange {next(self._exchanges)}", f"session {session}")
        return FaultyExchange(self, scopes, note)

    def judged(
        self, side: str, raw: bytes, scopes: tuple[str, str], *, is_one: bool
    ) -> tuple[bytes, int, float, dict[str, object] | None]:
        """The bytes to pass on, how often, after what delay, and fields to record if changed.

        With `is_one`, it is passed on at most once.
        """
        number = next(self._numbers[side])
        effect = self._run.judged(side, raw, scopes)
        if not effect.rules:
            return raw, 1, 0.0, None
        is_too_many = is_one and effect.copies > 1
        if is_too_many:
            effect.copies = 1
        fields: dict[str, Any] = self._run.change(side, number, raw, effect)
        if is_too_many:
            fields["not_done"] = f"duplicate: {_ONE_ONLY}"
        return effect.data, effect.copies, effect.delay_s, fields


class FaultyExchange:
    """One request and its response, as the script changes them."""

    def __init__(
        self, faults: HttpFaults, scopes: tuple[str, str], note: Callable[[dict[str, object]], None]
    ) -> None:
        self._faults = faults
        self._scopes = scopes
        self._note = note

    async def message(self, side: str, raw: bytes) -> tuple[bytes | None, dict[str, object] | None]:
        """The body to pass on, after its delay, or None if dropped; and the change to record."""
        data, copies, delay_s, fields = self._faults.judged(side, raw, self._scopes, is_one=True)
        await anyio.sleep(delay_s)
        return (data if copies else None), fields

    async def stream(
        self, pieces: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Pass on a stream of events; raises what `pieces` or `send` raise."""
        push, pull = anyio.create_memory_object_stream[_Piece](_MOST_WAITING)

        async def read() -> None:
            parser, latest = SseParser(sys.maxsize), 0.0
            with push:
                try:
                    async for data in pieces:
                        for event in parser.feed(data):
                            latest, changed = self._changed(event, latest)
                            await push.send(_Piece(latest, changed))
                except Exception as error:  # noqa: BLE001  # raised where the stream is passed on
                    await push.send(_Piece(latest, b"", error))
                else:
                    rest = b"".join(event.raw for event in parser.end())
                    await push.send(_Piece(latest, rest))

        failure: Exception | None = None
        with pull:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                try:
                    await _deliver(pull, send)
                except Exception as error:  # noqa: BLE001  # raised below, not in a group
                    failure = error
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    def _changed(self, event: SseEvent, latest: float) -> tuple[float, bytes]:
        """Return when an event is due, and its bytes; `latest` is the previous due time."""
        if not event.is_message:
            return latest, event.raw
        raw = event.data or b""
        data, copies, delay_s, fields = self._faults.judged(
            "server", raw, self._scopes, is_one=False
        )
        if fields is not None:
            self._note(fields)
        whole = event.raw if data == raw else _with_data(event, data)
        return max(latest, anyio.current_time() + delay_s), whole * copies


async def _deliver(pieces: AsyncIterator[_Piece], send: Callable[[bytes], Awaitable[None]]) -> None:
    async for piece in pieces:
        await anyio.sleep_until(piece.due)
        if piece.error is not None:
            raise piece.error
        if piece.data:
            await send(piece.data)


def _with_data(event: SseEvent, data: bytes) -> bytes:
    if event.whole is None:
        return event.before + data + event.after
    lines = [f"id: {event.id}".encode()] if event.id is not None else []
    lines += [f"event: {event.name}".encode()] if event.name else []
    lines += [b"data: " + line for line in data.split(b"\n")]
    return b"\n".join(lines) + b"\n\n"
