"""Event streams of one HTTP connection: read, and resumed after a break."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import httpx2

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.protocol.sse import SseTooLargeError
from mcp_progress_monitor.sessions.transport.http import errors
from mcp_progress_monitor.sessions.transport.http.client import HttpRequest, is_same_origin
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    HttpRefusedError,
    UnreachableError,
)
from mcp_progress_monitor.sessions.transport.http.receive_queue import (
    MOST_BYTES,
    EventStream,
    leave,
)
from mcp_progress_monitor.sessions.transport.http.record import BODY_KEPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.sse import SseEvent
    from mcp_progress_monitor.sessions.transport.base import Loss
    from mcp_progress_monitor.sessions.transport.http.client import HttpReply
    from mcp_progress_monitor.sessions.transport.http.endpoint import HttpEndpoint

CLOSED: Final = "the server closed the stream"
REFUSAL_S: Final = 10.0  # how long the body of a refusal may take: its status is what matters
_FIRST_DELAY_S: Final = 1.0
_LONGEST_DELAY_S: Final = 30.0
_LONGEST_RETRY_S: Final = 300.0
_SHORTEST_IN_VAIN_S: Final = 0.1
"""Pause before a stream without messages is resumed, however soon the server wants that."""
_IN_VAIN_STEP: Final = 10
"""How many futile attempts are made before that pause grows, and by which factor."""
_FIRST_SILENCE_S: Final = 20.0
"""How long a resumed stream may be silent before it is resumed again. Some servers replay what was
missed and then send nothing more on it: the next time they replay the rest."""
_LONGEST_SILENCE_S: Final = 300.0  # that pause doubles, up to this, while nothing arrives
_SHORT_CHUNK: Final = 256
"""Bytes of a chunk that may be only a comment, which keeps a connection alive."""
_MOST_ATTEMPTS: Final = 100
_UNREACHABLE_S: Final = 600.0
_UNHEARD: Final = 3  # how often in a row a server may be unreachable before it is given up
_OTHER_REPLY: Final = (
    "it contained a reply to another request: the server may have used the wrong id"
)
_NO_ID: Final = "It cannot be resumed because the server gave its events no ids."
_ODD_ID: Final = (
    "It cannot be resumed because the id of its last event is not a valid header value."
)
_NO_LISTENING: Final = (
    "The server announced the reply on its own stream, and then closed that stream."
)
_FORGOTTEN: Final = "The server no longer knows the session."
_NO_MORE: Final = "All attempts to resume it failed."
_SILENT: Final = "nothing received for {:g} s"
_WANTED: Final = "reconnect requested by the user"
_CONFLICT: Final = 409  # the response of a server that considers a stream open that we have left
_SHOWN_KIND: Final = 80
_SENDABLE: Final = re.compile(r"[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?")
_MAY_PASS: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class StreamOutcome(NamedTuple):
    """End of a stream, and where it can be resumed."""

    reason: str
    last_event_id: str | None = None
    retry_ms: int | None = None
    messages: int = 0
    too_large: SseTooLargeError | None = None


class SilenceWatch:
    """Stops reading a stream when nothing arrives for `silence_s`, or on request."""

    def __init__(self, silence_s: float) -> None:
        self.reason = ""  # why reading was stopped; empty when it was not
        self._silence_s = silence_s
        self._scope = anyio.CancelScope()

    def stop(self) -> None:
        """Stop reading, on the user's request."""
        self.reason = _WANTED
        self._scope.cancel()

    async def pour(self, reply: HttpReply, stream: EventStream) -> None:
        """Read a body as `Reply.pour` does, and return early if stopped."""

        def take(chunk: bytes) -> bool:
            if not _is_comment(chunk):
                self._scope.deadline = anyio.current_time() + self._silence_s
            return stream.add(chunk)

        self._scope.deadline = anyio.current_time() + self._silence_s
        with self._scope:
            await reply.pour(take, stream.room)
        if self._scope.cancelled_caught:
            self.reason = self.reason or _SILENT.format(self._silence_s)


def _is_comment(chunk: bytes) -> bool:
    """Return whether a chunk consists of complete lines without meaning."""
    if len(chunk) > _SHORT_CHUNK or not chunk.endswith((b"\n", b"\r")):
        return False
    return all(line[:1] in {b"", b":"} for line in chunk.splitlines())


async def read_stream(
    site: HttpEndpoint,
    reply: HttpReply,
    on_other: Callable[[SseEvent], None] = leave,
    watch: SilenceWatch | None = None,
) -> StreamOutcome:
    """Read a response that is an event stream to its end; publish all of it."""
    stream = EventStream(site.inbound, reply.exchange.number, on_other, MOST_BYTES)
    reason = CLOSED
    try:
        if watch is None:
            await reply.pour(stream.add, stream.room)
        else:
            await watch.pour(reply, stream)
            reason = watch.reason or CLOSED
    except BrokenError as error:
        reason = error.reason
    except SseTooLargeError as error:
        reply.reason = reason = f"too large: {error}"
    finally:
        stream.end()
    await site.inbound.passed()
    if reason == CLOSED and stream.oddity:
        reason += f"; {stream.oddity}"
    elif reason == CLOSED and stream.ended_with_reply:
        reason += f"; {_OTHER_REPLY}"
    if not stream.count and (charset := reply.answer.odd_charset):
        reason += f"; its encoding is {charset}, but event streams are read as UTF-8"
    return StreamOutcome(
        reason, stream.last_event_id, stream.retry_ms, stream.count, stream.too_large
    )


async def read_rest(site: HttpEndpoint, reply: HttpReply) -> errors.HttpAnswer:
    """Read and record a body that is not a message; the response with the beginning of it."""
    try:
        body, _ = await reply.read(BODY_KEPT, REFUSAL_S)
    except BrokenError:
        body = b""
    if body:
        site.record.body(reply.exchange, body, max(reply.size, len(body)))
    return reply.answer._replace(body=site.record.redactor.body(body))


class Resumption:
    """Resumes the stream of one request whenever it breaks, until its reply has arrived."""

    def __init__(self, site: HttpEndpoint, request: int, ending: StreamOutcome) -> None:
        """The stream of the request with this frame number has ended as `ending` says."""
        self.is_given_up = False
        """Whether the request was reported as lost because its stream is no longer resumed."""
        self._site = site
        self._request = request
        self._ending = ending
        self._why_broken = ending.reason
        self._attempt = 0
        self._unheard_since: float | None = None
        self._is_refused = False
        self._in_vain = 0
        self._error: ErrorDetails | None = None
        self._silence_s = _FIRST_SILENCE_S
        self._was_left = False
        self._watch: SilenceWatch | None = None
        self._wanted = anyio.Event()

    def again(self) -> None:
        """Resume the stream immediately: leave it if it is open, or stop waiting."""
        self._wanted.set()
        if self._watch is not None:
            self._watch.stop()

    async def run(self) -> None:
        """Return once the reply arrived, or the request was given up or reported as lost."""
        self._site.resume_now[self._request] = self.again
        try:
            await self._run()
        finally:
            del self._site.resume_now[self._request]

    async def _run(self) -> None:
        site = self._site
        while site.line.is_due(self._request):
            if self._ending.too_large is not None:
                site.lose(self._request, _too_large(self._ending, site))
                return
            if why := self._why_not():
                self._give_up(why)
                return
            self._attempt += 1
            delay_s = self._delay_s()
            self._log("stream_broken", reason=self._ending.reason, retry_s=delay_s)
            with anyio.move_on_after(delay_s):
                await self._wanted.wait()
            self._wanted = anyio.Event()
            if site.line.is_due(self._request) and not await self._try():
                return

    def _why_not(self) -> str:
        """Say why it is not resumed again; empty if it is."""
        if self._ending.last_event_id is None:
            return _NO_ID
        if _sendable(self._ending.last_event_id) is None:
            return _ODD_ID
        since = self._unheard_since
        is_late = (
            since is not None and self._site.inbound.clock.monotonic() - since > _UNREACHABLE_S
        )
        return _NO_MORE if is_late or self._attempt >= _MOST_ATTEMPTS else ""

    def _delay_s(self) -> float:
        retry_ms = self._ending.retry_ms
        delay_s = _delay_s(self._attempt)
        if retry_ms is None:
            return delay_s
        # The server's retry interval counts, but a server that is unreachable or not ready is not
        # asked forever.
        retry_s = min(retry_ms / 1000, _LONGEST_RETRY_S)
        if self._unheard_since is not None or self._is_refused:
            return max(retry_s, delay_s)
        # A server may have nothing for hours: it is asked less often, but never given up.
        steps = min(-(-self._in_vain // _IN_VAIN_STEP), _IN_VAIN_STEP)
        return max(retry_s, _SHORTEST_IN_VAIN_S * steps)

    def _log(self, event: str, **fields: object) -> None:
        self._site.inbound.record_event(
            event,
            request=self._request,
            last_event_id=self._ending.last_event_id,
            attempt=self._attempt,
            **fields,
        )

    async def _try(self) -> bool:
        """Resume it once; whether to continue."""
        site, last_id = self._site, _sendable(self._ending.last_event_id)
        headers = {**site.headers(EVENTS), "Last-Event-ID": last_id or ""}
        try:
            async with site.wire.exchange(HttpRequest("GET", site.url, headers, "resume")) as reply:
                self._unheard_since = None
                self._is_refused = False
                if reply.answer.status == 200 and reply.answer.kind == EVENTS:
                    self._log("stream_resumed")
                    self._watch = watch = SilenceWatch(self._silence_s)
                    ending = await read_stream(site, reply, watch=watch)
                    self._watch = None
                    self._go_on_from(ending, was_left=bool(watch.reason))
                    return True
                answer = await read_rest(site, reply)
        except UnreachableError as error:
            self._error = error.details
            self._note_unheard(error.details.what)
            return True
        except BrokenError as error:
            self._note_unheard(error.reason)
            return True
        except HttpRefusedError as error:
            self._give_up(f"{error.loss.details.what}.", error.loss.details.detail)
            return False
        return self._goes_on_after(answer)

    def _note_unheard(self, reason: str) -> None:
        if self._unheard_since is None:
            self._unheard_since = self._site.inbound.clock.monotonic()
        self._ending = self._ending._replace(reason=reason)

    def _go_on_from(self, ending: StreamOutcome, *, was_left: bool) -> None:
        old = self._ending
        self._was_left = was_left
        if ending.messages:
            self._silence_s = _FIRST_SILENCE_S
        elif was_left:
            self._silence_s = min(2 * self._silence_s, _LONGEST_SILENCE_S)
        # A stream that restarts at the same place each time makes no progress, whatever it sends.
        is_further = ending.last_event_id not in {None, old.last_event_id}
        self._in_vain = 0 if ending.messages and is_further else self._in_vain + 1
        if ending.messages or ending.last_event_id or was_left:
            self._attempt = 0  # the server is reachable
        self._why_broken = ending.reason
        self._ending = ending._replace(
            last_event_id=ending.last_event_id or old.last_event_id,
            retry_ms=old.retry_ms if ending.retry_ms is None else ending.retry_ms,
        )

    def _goes_on_after(self, answer: errors.HttpAnswer) -> bool:
        may_pass = answer.status == _CONFLICT and self._was_left
        if may_pass or answer.status in _MAY_PASS:
            self._is_refused = True
            after_s = answer.retry_after_s
            ms = self._ending.retry_ms if after_s is None else int(after_s * 1000)
            self._ending = self._ending._replace(reason=answer.line, retry_ms=ms)
            return True
        is_forgotten = answer.status == 404 and self._site.session is not None
        said = answer.evidence
        if answer.status < 300:
            kind = formatting.one_line(answer.kind, _SHOWN_KIND) or "none"
            said = "\n".join(filter(None, (f"Content type: {kind}", said)))
        why = f"The server answered {answer.line} to the attempt to resume it."
        self._give_up(f"{_FORGOTTEN} {why}" if is_forgotten else why, said)
        if is_forgotten:
            self._site.forget()
        return False

    def _give_up(self, why: str, said: str = "") -> None:
        site = self._site
        self.is_given_up = True
        site.lose(self._request, errors.broken(self._why_broken, why, site.address, said))
        is_unheard = self._unheard_since is not None
        if self._error and is_unheard and not site.others(self._request):
            site.unreachable(self._error)


def _sendable(last_id: str | None) -> str | None:
    """An id as a header value; None if that is impossible."""
    bare = (last_id or "").strip(" \t")
    return bare if _SENDABLE.fullmatch(bare) else None


def _delay_s(attempt: int) -> float:
    """Return how long to wait before an attempt: twice as long each time."""
    return min(_FIRST_DELAY_S * float(1 << max(0, min(attempt - 1, 10))), _LONGEST_DELAY_S)


def _too_large(ending: StreamOutcome, site: HttpEndpoint) -> Loss:
    size = ending.too_large.size if ending.too_large else 0
    return errors.too_large(size, MOST_BYTES, site.address)


class Listening:
    """The stream for messages that a server of the handshake era sends unprompted."""

    def __init__(self, site: HttpEndpoint) -> None:
        self._site = site
        self._last_id: str | None = None
        self._retry_ms: int | None = None
        self._attempt = 0
        self._unheard = 0
        self._was_open = False

    async def run(self) -> None:
        """Keep it open; return if the server has none."""
        site = self._site
        site.is_listening = True
        try:
            while await self._once():
                self._attempt += 1
                await anyio.sleep(self._delay_s())
        finally:
            site.is_listening = False
        closed = errors.broken(CLOSED, _NO_LISTENING, site.address)
        for request, never_opened in site.elsewhere.items():
            site.lose(request, closed if self._was_open else never_opened)

    def _delay_s(self) -> float:
        delay_s = _delay_s(self._attempt)
        retry_s = 0.0 if self._retry_ms is None else self._retry_ms / 1000
        return max(min(retry_s, _LONGEST_RETRY_S), delay_s)

    async def _once(self) -> bool:
        """Open it once, to its end; whether to try again."""
        site = self._site
        headers = site.headers(EVENTS)
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        purpose = "listen" if self._last_id is None else "resume"
        try:
            async with site.wire.exchange(HttpRequest("GET", site.url, headers, purpose)) as reply:
                self._unheard = 0
                if reply.answer.status != 200 or reply.answer.kind != EVENTS:
                    return self._goes_on_after(await read_rest(site, reply))
                self._was_open = True
                self._note(await read_stream(site, reply))
        except UnreachableError as error:
            return self._goes_on_unheard(error.details)
        except BrokenError:
            return True
        except HttpRefusedError:
            return False
        return True

    def _note(self, ending: StreamOutcome) -> None:
        if ending.messages:
            self._attempt = 0
        if ending.last_event_id:
            # An id that no header can carry: open the stream again, but not from there.
            self._last_id = _sendable(ending.last_event_id)
        self._retry_ms = self._retry_ms if ending.retry_ms is None else ending.retry_ms

    def _goes_on_after(self, answer: errors.HttpAnswer) -> bool:
        if answer.status == 404 and self._site.session is not None and self._attempt:
            self._site.forget()
        return answer.status in _MAY_PASS

    def _goes_on_unheard(self, error: ErrorDetails) -> bool:
        self._unheard += 1
        if self._unheard < _UNHEARD or self._site.others():
            return True
        self._site.unreachable(error)
        return False


_SHOWN: Final = 200


class LegacySseStream:
    """The stream of one connection, and the endpoint for messages."""

    def __init__(self, site: HttpEndpoint, *, is_trial: bool = False) -> None:
        """Begin unconnected; `site` posts to the endpoint that the stream names.

        In a trial, a server without such a stream is not an error.
        """
        self.is_found = False  # whether the server has named the endpoint
        self._site = site
        self._is_trial = is_trial
        self._scope = anyio.CancelScope()
        self._endpoint = anyio.Event()

    async def reached(self) -> None:
        """Wait until the server has named the endpoint, or the connection has failed."""
        await self._endpoint.wait()

    def stop(self) -> None:
        self._scope.cancel()

    async def run(self) -> None:
        """Read the stream to its end, which ends the connection."""
        with self._scope:
            await self._run()

    async def _run(self) -> None:
        site = self._site
        headers = site.headers(EVENTS)
        request = HttpRequest("GET", site.definition.url, headers, "listen")
        try:
            async with site.wire.exchange(request) as reply:
                if reply.answer.status != 200 or reply.answer.kind != EVENTS:
                    self._fail(_no_stream(await read_rest(site, reply), site.address))
                    return
                ending = await read_stream(site, reply, self._on_other)
        except UnreachableError as error:
            self._fail(error.details)
        except BrokenError as error:
            self._fail(_ended(error.reason, site.address))
        except HttpRefusedError as error:
            self._fail(error.loss.details)
        else:
            self._fail(_ended(ending.reason, site.address))

    def _fail(self, details: ErrorDetails) -> None:
        if self.is_found or not self._is_trial:
            self._site.fail(details)
        self._endpoint.set()

    def _on_other(self, event: SseEvent) -> None:
        """Set the endpoint; the first one counts."""
        if event.name != "endpoint" or not event.is_complete or self._endpoint.is_set():
            return
        named = (event.data or b"").decode(errors="replace").strip()
        here = httpx2.URL(self._site.definition.url)
        try:
            there = here.join(named)
        except httpx2.InvalidURL:
            there = None
        if there is None:
            self._fail(_no_place(named, shown_url(str(here))))
            return
        if not is_same_origin(here, there):
            self._fail(_elsewhere(named, shown_url(str(here))))
            return
        self._site.url = str(there.copy_with(userinfo=here.userinfo))
        self.is_found = True
        self._endpoint.set()


def _no_stream(answer: errors.HttpAnswer, where: str) -> ErrorDetails:
    if answer.status >= 300:
        details = errors.refused(answer, where).details
    else:
        details = errors.no_message(answer, where).details
    if answer.status in {400, 404, 405, 406}:
        hint = "Servers from 2024-11-05 are often at /sse. Newer ones need the transport http."
        return details._replace(hint=hint)
    return details


def _ended(reason: str, where: str) -> ErrorDetails:
    hint = "Reconnect. This transport cannot resume a stream."
    return ErrorDetails("The server's event stream ended", where, hint, reason)


def _no_place(named: str, where: str) -> ErrorDetails:
    what = "The server asks for messages at an address that is not a valid URL"
    return ErrorDetails(what, where, "The server has a bug: check its log.", _address(named))


def _elsewhere(named: str, where: str) -> ErrorDetails:
    what = "The server asks for messages at an address of another origin"
    hint = "This could be an attack and was refused. Connect to that URL directly if you trust it."
    return ErrorDetails(what, where, hint, _address(named))


def _address(named: str) -> str:
    return f"Address: {formatting.one_line(shown_url(named), _SHOWN)}"
