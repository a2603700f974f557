"""Checks on progress, silence and cancels: rate, readable messages, and clients' time limits."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.findings import clients, rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.protocol.facts import (
    ProgressReceived,
    RequestAnswered,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.messages import CALL_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.protocol.facts import (
        ConnectionClosed,
        Fact,
        RequestCancelled,
        RequestMade,
    )
    from mcp_progress_monitor.protocol.frames import PlainTick

MOST_A_SECOND: Final = 50
LONG_S: Final = 10.0  # a call that runs longer should report progress
_SOME_CALLS: Final = 3  # calls without a token after which the client is taken never to send one
_CROSSING_S: Final = 1.0  # a message this soon after a cancel may have crossed it in transit
_ECHO_S: Final = 0.25  # how long such messages may go on, or two of the fastest replies
_WITHIN_S: Final = 10.0  # progress this recent shows that the server was working
_CROSSED: Final = {"PROG-5": rules.TICK_CROSSED, "CAN-3": rules.REPLY_CROSSED}
_OF_ORDER: Final = {"PROG-3", "PROG-5", "PROG-6", "PROG-10"}
"""Rules that compare a tick with others of its token, or with the end of its request."""
_FIRST_REVISION: Final = "2024-11-05"
_SOME_TICKS: Final = 3  # that all come with their reply
_SOME_WORK_S: Final = 1.0  # after which they should have come earlier
_TOGETHER_S: Final = 0.02
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ASCII_CONTROL: Final = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
_KNOWN_AS: Final = {"\x1b": ", which starts terminal colours"}
_TIMEOUT: Final = re.compile(r"tim(?:ed?|ing)[ -]?out|-32001|too long|deadline", re.IGNORECASE)


def take_ticks(connection: JudgedConnection, ticks: Sequence[PlainTick]) -> Iterator[Evidence]:
    """Check ticks of one moment: in a few steps for all, but the first of a request in a second."""
    requests = [tick[3] for tick in ticks]
    several = set(requests)
    yield from _count(connection, requests, several, ticks[0][0], ticks[0][1][1])
    if len(several) == 1:
        connection.last_ticks[requests[0]] = ticks[-1]
    else:
        connection.last_ticks.update(zip(requests, ticks, strict=True))
    yield from _texts(connection, ticks)


def _count(
    connection: JudgedConnection,
    requests: Sequence[int],
    several: AbstractSet[int],
    number: int,
    at: float,
) -> Iterator[Evidence]:
    """Count a tick for each of `requests`, `several` different ones, from frame `number` on."""
    connection.begin_second(at)
    if several <= connection.flooding:
        return
    counts = connection.ticks_of_second
    if not counts.keys() >= several:
        for request in dict.fromkeys(requests):
            if request not in counts and (call := connection.apply_last_tick(request)) is not None:
                if call.first_tick_at is None:
                    call.first_tick_at = at
                yield from _silence(connection, call, at)
    counts.update(requests)
    calm = several - connection.flooding
    for request in sorted(each for each in calm if counts[each] > MOST_A_SECOND):
        connection.flooding.add(request)
        if (call := connection.calls.get(request)) is not None:
            yield call.breaks(rules.TICK_FLOOD, number, MOST_A_SECOND, by=_other(call.by))


def _texts(connection: JudgedConnection, ticks: Sequence[PlainTick]) -> Iterator[Evidence]:
    texts = [text for tick in ticks if (text := tick[6]) is not None]
    if all(map(str.strip, texts)) and not _has_control("".join(texts)):
        return
    for tick in ticks:
        call, text = connection.call_of(tick[3]), tick[6]
        if call is not None and text is not None:
            yield from _text(connection, call, tick[0], text, Side.SERVER)


def _has_control(text: str) -> bool:
    if text.isascii():  # in a quarter of the time that `isprintable` takes
        raw = text.encode()
        return len(raw.translate(None, _ASCII_CONTROL)) < len(raw)
    return not text.isprintable() and _CONTROL.search(text) is not None


def take_tick(connection: JudgedConnection, fact: ProgressReceived) -> Iterator[Evidence]:
    call = connection.call_of(fact.request)
    if call is None:
        return
    if fact.standing is RequestStanding.ACTIVE:
        yield from _count(connection, [call.number], {call.number}, fact.number, fact.at)
        call.note_tick(fact.number, fact.at, fact.progress, fact.total)
    if fact.message is not None:
        yield from _text(connection, call, fact.number, fact.message, fact.sender)


def _text(
    connection: JudgedConnection, call: JudgedCall, number: int, text: str, by: Side
) -> Iterator[Evidence]:
    """Check the text of a progress message; a fact reports one that is not a string."""
    found = _CONTROL.search(text)
    is_first = connection.revision == _FIRST_REVISION
    if not text.strip():
        why = (rules.MESSAGE_EARLY, "empty") if is_first else (rules.MESSAGE_EMPTY,)
    elif found is not None:
        char = f"U+{ord(found[0]):04X}{_KNOWN_AS.get(found[0], '')}"
        rule = rules.MESSAGE_EARLY if is_first else rules.MESSAGE_CONTROL
        why = (rule, char)
    else:
        return
    yield call.breaks(why[0], number, *why[1:], by=by)


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Count the client's calls; repeating an open call means that it was abandoned."""
    for each in fact.findings:
        if each.rule is rules.TOKEN_IN_USE:
            call.shares_token = True
            if (other := connection.call_of(each.arguments[1])) is not None:
                other.shares_token = True
    if fact.method != CALL_TOOL or fact.sender is not Side.CLIENT:
        return
    connection.tool_calls += 1
    connection.with_token += fact.token is not None
    if not is_watched(connection):
        return
    calls = connection.tool_calls
    if calls >= _SOME_CALLS and not connection.with_token:
        never = connection.breaks(rules.NEVER_A_TOKEN, fact.number, calls, by=Side.CLIENT)
        yield never._replace(replaces=True)
    for other in connection.repeats_of(call):
        if fact.at - other.message_at > LONG_S:
            yield other.breaks(
                rules.GIVEN_UP_SILENTLY, fact.number, fact.at - other.at, by=Side.CLIENT
            )


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Check a reply: the progress so far, the silence before it, an earlier cancel."""
    is_late = fact.standing is RequestStanding.CANCELLED and fact.result is not None
    if is_late and call.is_timeout and is_watched(connection):
        late_s = fact.at - (call.cancelled_at or fact.at)
        yield call.breaks(rules.RESULT_DISCARDED, fact.number, late_s, by=Side.CLIENT)
    if fact.standing is not RequestStanding.ACTIVE:
        return
    if call.of_task is not None:
        return
    yield from _silence(connection, call, fact.at)
    call.note_message(fact.number, fact.at)
    progress, total = call.progress, call.total
    is_below = progress is not None and total is not None and total > progress
    if is_below and _is_done(fact) and not call.shares_token:
        yield call.breaks(rules.ENDED_BELOW, fact.number, progress, total, by=fact.sender)
    took = fact.at - call.at
    count = connection.ticks_of_second.get(call.number, 0)
    if call.first_tick_at is not None and count >= _SOME_TICKS and took >= _SOME_WORK_S:
        span = fact.at - call.first_tick_at
        if span <= _TOGETHER_S:
            yield call.breaks(rules.TICKS_HELD_BACK, fact.number, span, took, by=fact.sender)
    if (
        call.method == CALL_TOOL
        and call.token is not None
        and call.tick_at is None
        and took > LONG_S
    ):
        yield call.breaks(rules.NO_PROGRESS, fact.number, took, by=fact.sender)


def _is_done(fact: RequestAnswered) -> bool:
    """Return whether a reply is a complete, successful result."""
    result = fact.result
    is_whole = result is not None and result.get("resultType", "complete") == "complete"
    return is_whole and fact.next_resume_token is None and (result or {}).get("isError") is not True


def _silence(connection: JudgedConnection, call: JudgedCall, at: float) -> Iterator[Evidence]:
    """Report which clients would have timed out; the longest silence is shown."""
    silence_s = at - call.message_at
    if silence_s <= clients.USUAL_S or call.method != CALL_TOOL or call.was_asked:
        return
    lost = clients.that_give_up(silence_s, is_http=connection.is_http)
    names = tuple(dict.fromkeys(each.client for each in lost))
    is_longest = silence_s > call.silence_s
    call.silence_s = max(silence_s, call.silence_s)
    silence = call.breaks(rules.SILENCE, call.message_number, silence_s, names)
    yield silence._replace(replaces=is_longest)


def take_time(connection: JudgedConnection, now: float) -> Iterator[Evidence]:
    for call in connection.calls.values():
        yield from _silence(connection, call, now)


def due(connection: JudgedConnection, now: float) -> Iterator[float]:
    """Return when current silences reach the next limit of a known client."""
    for call in connection.calls.values():
        if call.method == CALL_TOOL and not call.was_asked:
            silence_s = now - call.message_at
            limits = (each.limit_s for each in clients.LIMITS if each.limit_s >= silence_s)
            yield from (call.message_at + limit for limit in itertools.islice(limits, 1))


def _late_s(call: JudgedCall, fact: Fact) -> float:
    return fact.at - (fact.at if call.cancelled_at is None else call.cancelled_at)


def as_crossing(connection: JudgedConnection, fact: Fact, finding: Finding) -> Finding:
    """A finding about a message after a cancel, as a note if it may have crossed it in transit."""
    crossed = _CROSSED.get(finding.rule.id)
    if crossed is None or not isinstance(fact, ProgressReceived | RequestAnswered):
        return finding
    call = connection.call_of(fact.request)
    if call is None or fact.standing is not RequestStanding.CANCELLED:
        return finding
    late_s = _late_s(call, fact)
    call.echo_at = fact.at if call.echo_at is None else call.echo_at
    goes_on_s = fact.at - call.echo_at
    is_sent_later = goes_on_s > max(_ECHO_S, 2 * min(connection.fastest_s, _CROSSING_S))
    return finding if is_sent_later or late_s > _CROSSING_S else Finding(crossed, (late_s,))


def as_shared(connection: JudgedConnection, fact: Fact, finding: Finding) -> Finding:
    """A finding about progress, or the client's fault if two requests share the token."""
    if type(fact) is not ProgressReceived or finding.rule.id not in _OF_ORDER:
        return finding
    call = connection.call_of(fact.request)
    return Finding(rules.TOKEN_SHARED) if call is not None and call.shares_token else finding


def take_cancel(
    connection: JudgedConnection, call: JudgedCall, fact: RequestCancelled
) -> Iterator[Evidence]:
    """Note a cancel, and report a client that times out in spite of recent progress."""
    if fact.standing is not RequestStanding.ACTIVE:
        return
    yield from _silence(connection, call, fact.at)
    call.note_message(fact.number, fact.at)
    call.cancelled_at = fact.at
    after = fact.at - call.at
    call.is_timeout = fact.sender is Side.CLIENT and _is_timeout(fact.reason, after)
    if not (call.is_timeout and is_watched(connection)) or call.tick_at is None:
        return
    since = fact.at - call.tick_at
    if since <= _WITHIN_S:
        yield call.breaks(rules.TIMED_OUT_RISING, fact.number, after, since, by=Side.CLIENT)


def _is_timeout(reason: str | None, after_s: float) -> bool:
    """Return whether the reason or the time of a cancel suggests a timeout."""
    if reason is not None and _TIMEOUT.search(reason):
        return True
    return reason is None and any(abs(after_s - each.limit_s) < 1.0 for each in clients.LIMITS)


def take_close(connection: JudgedConnection, fact: ConnectionClosed) -> Iterator[Evidence]:
    """Check the calls that the client left open, and the silence until then."""
    yield from take_time(connection, fact.at)
    for call in connection.calls.values() if is_watched(connection) and fact.is_wanted else ():
        after = fact.at - call.at
        if call.method == CALL_TOOL and call.by is Side.CLIENT and after > LONG_S:
            yield call.breaks(rules.GIVEN_UP_SILENTLY, fact.number, after, by=Side.CLIENT)


def is_watched(connection: JudgedConnection) -> bool:
    """Return whether the client is another program: our own user's choices are not violations."""
    return connection.client not in {"", APPLICATION}


def _other(side: Side) -> Side:
    return Side.SERVER if side is Side.CLIENT else Side.CLIENT
