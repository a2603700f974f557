"""The text of `--json` events: fields, order and number formats that scripts rely on."""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.reply import as_json, exact_member
from mcp_progress_monitor.protocol.facts import MESSAGE_LIMIT, ProgressReceived, Standing

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_BETWEEN = "; "
_LATE = frozenset(Standing) - {Standing.ACTIVE, Standing.UNKNOWN}


def event_line(event: str, elapsed: str, **fields: str) -> str:
    """One event as a line; `fields` are JSON already, `elapsed` the digits of its `t`."""
    members = "".join(f',"{name}":{value}' for name, value in fields.items())
    return f'{{"event":"{event}","t":{elapsed}{members}}}\n'


def elapsed(seconds: float) -> str:
    """Seconds since the start, to the microsecond."""
    return f"{max(seconds, 0.0):.6f}"


def pace(job: JobSnapshot | None) -> str:
    """The members `rate` and `eta_s` of a progress event; unknown and unending are null."""
    rate = None if job is None else job.rate
    eta_s = None if job is None else job.eta_s
    return f'"rate":{_finite(rate)},"eta_s":{_finite(eta_s)}'


def _finite(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(round(value, 6))


def progress_line(
    fact: ProgressReceived,
    seconds: str,
    job: JobId | None,
    count: int,
    pace_members: str,
    words: str = "",
) -> str:
    """A progress event, written by hand: this is the line a flood consists of.

    A late one says so (`late`), an irregular one what is wrong (`problems`): what can be seen of
    the message itself, then what else there is in the tracker's `words`.
    """
    message = fact.message
    return (
        f'{{"event":"progress","t":{seconds},"job":{"null" if job is None else job}'
        f',"token":{quoted(fact.token) if type(fact.token) is str else as_json(fact.token)}'
        f',"progress":{_number(fact.progress)},"total":{_number(fact.total)}'
        f',"message":{"null" if message is None else quoted(message)}'
        f',{pace_members},"count":{count}{_remarks(fact, words)}}}\n'
    )


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value)


def _remarks(fact: ProgressReceived, words: str) -> str:
    late = ',"late":true' if fact.standing in _LATE else ""
    if not words and not fact.problems:
        return late
    return f'{late},"problems":{as_json([*fact.problems, *_others(fact, words)])}'


def _others(fact: ProgressReceived, words: str) -> list[str]:
    """What `words` say beyond the fact's own problems, which are their beginning or their end."""
    own = _BETWEEN.join(fact.problems)
    others = words.removeprefix(own).removesuffix(own)
    return [part for part in others.split(_BETWEEN) if part]


def resumable_line(job: JobSnapshot, seconds: str) -> str:
    """A resumable event: `resume_id` is what the command `resume` takes, null if it cannot.

    `reason` says why it stopped, null if the server merely handed out a token; `usable` is false
    when it does not take the token any more.
    """
    return event_line(
        "resumable",
        seconds,
        job=as_json(job.id),
        resume_id=as_json(job.chain),
        attempt=as_json(job.attempt_count),
        reason=as_json(job.resume_note or None),
        usable=as_json(job.can_resume),
    )


def is_cut(fact: ProgressReceived) -> bool:
    """Whether the fact's message may be only the head of what was sent."""
    return fact.message is not None and len(fact.message) >= MESSAGE_LIMIT


def whole_message(raw: bytes) -> str:
    """The message of a progress notification with all its characters."""
    params = exact_member(raw, "params").encode()
    value = json.loads(exact_member(params, "message"))
    return value if isinstance(value, str) else ""
