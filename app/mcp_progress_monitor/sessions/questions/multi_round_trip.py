"""Multi-round-trip requests (2026-07-28): ask for required input, then repeat the request."""

from __future__ import annotations

import contextlib
import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import Era, as_object
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value, shown
from mcp_progress_monitor.protocol.messages import CALLS, ELICIT, META
from mcp_progress_monitor.protocol.outline import finish, object_members
from mcp_progress_monitor.protocol.tasks import lacks_extension, without_extension
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.questions.answers import RpcError, result_of
from mcp_progress_monitor.sessions.questions.server_requests import QuestionOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.sessions.questions.server_requests import (
        ServerRequest,
        ServerRequests,
    )
    from mcp_progress_monitor.tracker.snapshot import JobId

MOST_ROUND_TRIPS: Final = 10
URL_NEEDED: Final = -32042
"""The error code of 2025-11-25 for a call that requires visiting URLs first."""
_MOST_PAGES: Final = 10
_CALL_AGAIN: Final = "The call has ended: visit the page, then call again."
_OF_A_ROUND: Final = frozenset({"inputResponses", "requestState"})
_PAUSES_S: Final = (0.05, 0.1, 0.25)
"""Pause before a request that only returns a state: the server needs time, not input."""


class InputRequiredError(Exception):
    """Input cannot be given: the message says why, and ends the call."""

    def __init__(self, text: str, *, is_wanted: bool = False) -> None:
        """`is_wanted`: the user refused."""
        super().__init__(text)
        self.text = text
        self.is_wanted = is_wanted


class Required(NamedTuple):
    """Requirements of a result: questions by key, and the exact bytes of the state to return."""

    requests: JsonObject
    state: bytes | None


class _RoundWork(NamedTuple):
    """An exchange to continue, and the reply that requires input."""

    exchange: PendingRequest
    reply: int
    raw: bytes


class MultiRoundTrips:
    """Continues the calls of one connection. `run` is its one task."""

    def __init__(self, connection: Connection, server_requests: ServerRequests) -> None:
        self._connection = connection
        self._incoming = server_requests
        self._work, self._inbox = anyio.create_memory_object_stream[_RoundWork](math.inf)
        connection.outbox.continuations.append(self._take)

    async def run(self) -> None:
        """Continue exchanges that require input, until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                async for work in self._inbox:
                    tasks.start_soon(self._continue, work)
        finally:
            self._work.close()
            self._inbox.close()

    def _take(self, exchange: PendingRequest, reply: RequestAnswered, raw: bytes) -> bool:
        """Return whether a reply is not final, but requires input that we can try to give."""
        if as_object(reply.error).get("code") == URL_NEEDED:
            self._put(_RoundWork(exchange, reply.number, raw))
        is_required = as_object(reply.result).get("resultType") == "input_required"
        if not is_required or exchange.method not in CALLS or exchange.end is not None:
            return False
        if self._incoming.era is not Era.PER_REQUEST:
            return False
        exchange.is_asking = True
        exchange.round_trips += 1
        self._put(_RoundWork(exchange, reply.number, raw))
        return True

    def _put(self, work: _RoundWork) -> None:
        """Pass it to `run`; nobody is asked while the connection is ending."""
        with contextlib.suppress(anyio.ClosedResourceError):
            self._work.send_nowait(work)

    async def _continue(self, work: _RoundWork) -> None:
        """Ask, then continue, unless the exchange ends first."""
        exchange = work.exchange
        if not exchange.is_asking:
            await self._show_pages(work)
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_with, exchange, tasks.cancel_scope)
            await self._try(work)
            tasks.cancel_scope.cancel()
        await self._send_cancel(exchange)

    async def _send_cancel(self, exchange: PendingRequest) -> None:
        """Record that a call ended between two requests: no message shows it."""
        if exchange.end is ExchangeEnd.CANCELLED and exchange.is_asking and not exchange.reason:
            await self._end(exchange, "cancelled", "Cancelled while a question was open")

    async def _try(self, work: _RoundWork) -> None:
        exchange = work.exchange
        try:
            await self._ask_and_retry(work)
        except InputRequiredError as error:
            exchange.reason = error.text
            await self._end(exchange, "cancelled" if error.is_wanted else "failed", error.text)
            end = ExchangeEnd.CANCELLED if error.is_wanted else ExchangeEnd.GIVEN_UP
            self._connection.outbox.give_up(exchange, end)
        except anyio.ClosedResourceError:
            pass  # reported with the connection's end

    async def _show_pages(self, work: _RoundWork) -> None:
        """Ask the user to visit the URLs of an error; the answers do not change it."""
        job = self._incoming.job_of(work.exchange.request)
        async with anyio.create_task_group() as tasks:
            for params in read_pages(work.raw):
                try:
                    question = self._incoming.read(ELICIT, {**params, "mode": "url"})
                except RpcError:
                    continue  # the error is reported as received
                question = question._replace(errors=(*question.errors, _CALL_AGAIN))
                key = str(params.get("elicitationId"))
                tasks.start_soon(self._incoming.ask, question, QuestionOrigin(work.reply, key, job))

    async def _end(self, exchange: PendingRequest, outcome: str, text: str) -> None:
        with anyio.CancelScope(shield=True):
            await self._connection.record_event(
                "call_ended", request=exchange.request, outcome=outcome, text=text
            )

    async def _ask_and_retry(self, work: _RoundWork) -> None:
        exchange = work.exchange
        if exchange.round_trips > MOST_ROUND_TRIPS:
            text = f"The server required input {exchange.round_trips} times"
            raise InputRequiredError(f"{text}: stopped after {MOST_ROUND_TRIPS} round trips")
        required = await anyio.to_thread.run_sync(read_required, work.raw)
        params = _first_params(exchange, self._connection.outbox.peer.stamps)
        if required.requests:
            job = self._incoming.job_of(exchange.request)
            params["inputResponses"] = await self.ask_all(required.requests, work.reply, job)
        else:
            await anyio.sleep(_PAUSES_S[min(exchange.round_trips, len(_PAUSES_S)) - 1])
        verbatim = {} if required.state is None else {"requestState": required.state}
        try:
            self._connection.outbox.ask_again(exchange, params, verbatim)
        except UserError as error:
            raise InputRequiredError(error.details.as_text()) from error

    async def ask_all(self, requests: JsonObject, frame: int, job: JobId | None) -> JsonObject:
        """Ask all questions of the message in `frame` in parallel; results by key.

        Raises:
            InputError: one of them cannot be asked, or the user refuses it; then all are
                closed.
        """
        requested = {key: self._read(key, request) for key, request in requests.items()}
        results: JsonObject = dict.fromkeys(requested)
        failed: list[InputRequiredError] = []
        async with anyio.create_task_group() as tasks:

            async def ask(key: str) -> None:
                try:
                    results[key] = await self._result(
                        requested[key], QuestionOrigin(frame, key, job)
                    )
                except InputRequiredError as error:
                    failed.append(error)
                    tasks.cancel_scope.cancel()

            for key in requested:
                tasks.start_soon(ask, key)
        if failed:
            raise failed[0]
        return results

    def _read(self, key: str, request: Any) -> ServerRequest:
        if not isinstance(request, dict):
            raise InputRequiredError(
                f"The input request {shown(key)} is {shown(request)}, not an object"
            )
        try:
            return self._incoming.read(request.get("method"), request.get("params"))
        except RpcError as error:
            text = f"The input request {shown(key)} cannot be answered: {error.message}"
            raise InputRequiredError(text) from error

    async def _result(self, server_request: ServerRequest, where: QuestionOrigin) -> JsonObject:
        question, answer = await self._incoming.ask(server_request, where)
        if answer is None:
            raise InputRequiredError("The question was withdrawn", is_wanted=True)
        try:
            return result_of(question, answer)
        except RpcError as error:
            # No result can express this refusal, so the call ends.
            raise InputRequiredError(f"Refused: {error.message}", is_wanted=True) from error


async def _cancel_with(exchange: PendingRequest, scope: anyio.CancelScope) -> None:
    await exchange.over()
    scope.cancel()


def read_required(raw: bytes) -> Required:
    """Read the input that a reply requires, of any size.

    Raises:
        InputError: it cannot be understood, or nothing is required.
    """
    try:
        members = finish(object_members(finish(object_members(raw))["result"]))
        requests = read_value(members.get("inputRequests", b"{}")).value
        state = _state(members.get("requestState"))
    except (NotJsonError, TooDeepError) as error:
        raise InputRequiredError(f"The server's input requests cannot be read: {error}") from error
    if not isinstance(requests, dict):
        raise InputRequiredError(f'"inputRequests" is {shown(requests)}, not an object')
    if not requests and state is None:
        raise InputRequiredError(
            "The server requires input, but sent neither input requests nor a state"
        )
    return Required(requests, state)


def read_pages(raw: bytes) -> list[JsonObject]:
    """The URLs that an error requires to visit first (2025-11-25 "Elicitation")."""
    try:
        error = as_object(as_object(read_value(raw).value).get("error"))
    except (NotJsonError, TooDeepError):
        return []
    pages = as_object(error.get("data")).get("elicitations")
    found = [page for page in pages if isinstance(page, dict)] if isinstance(pages, list) else []
    return found[:_MOST_PAGES]


def _state(raw: bytes | None) -> bytes | None:
    """The state as received; re-encoded only if it is not JSON in UTF-8, which must not be sent."""
    if raw is None or raw == b"null":
        return None
    reading = read_value(raw)
    return json.dumps(reading.value).encode() if reading.findings else raw


def _first_params(exchange: PendingRequest, stamps: Mapping[str, Any]) -> JsonObject:
    """The parameters of the first request with its progress token, without `_meta` stamps.

    A call that was made without the tasks extension is repeated without it.
    """
    params = as_object(json.loads(exchange.first.raw).get("params"))
    first = as_object(params.get(META))
    meta = {key: value for key, value in first.items() if key not in stamps}
    kept = {name: value for name, value in params.items() if name not in _OF_A_ROUND}
    again = {**kept, META: meta}
    return without_extension(again, stamps) if lacks_extension(first, stamps) else again
