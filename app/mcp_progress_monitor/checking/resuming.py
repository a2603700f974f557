"""Checks on resume tokens: whose they are, whether they are used again, what they look like."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.checking.connection import keep
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import RequestStanding, Side
from mcp_progress_monitor.protocol.lenient_json import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestMade

MOST_ATTEMPTS: Final = 1000
_INVALID_PARAMS: Final = -32602
_JWT: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")
_PATH: Final = re.compile(r"(?:[A-Za-z]:\\|/)[\w .~-]+[/\\][\w .~/\\-]*")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S+|[\w.+-]+@[\w-]+\.[\w.-]+")


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check that a token is not that of a completed operation."""
    token, memory = fact.resume_token, connection.server
    if isinstance(token, str) and token in memory.completed:
        frame = memory.completed[token]
        yield call.breaks(rules.TOKEN_OF_COMPLETED, fact.number, frame, by=Side.CLIENT)


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    sent, token, memory = call.resume_token, fact.next_resume_token, connection.server
    if fact.standing is not RequestStanding.ACTIVE:
        return
    known = memory.chains.pop(sent, None) if isinstance(sent, str) else None
    if fact.error is not None:
        code = fact.error.get("code")
        if isinstance(sent, str) and code != _INVALID_PARAMS:
            if known is None:
                answer = f"the error {shown(code)}"
                yield call.breaks(rules.REFUSED_CODE, fact.number, answer)
            else:
                keep(memory.chains, sent, known)
        return
    if not isinstance(token, str) or not token:
        for each in known or ((sent,) if isinstance(sent, str) else ()):
            keep(memory.completed, each, fact.number)
        return
    what = appearance(token)
    if what:
        yield call.breaks(rules.TOKEN_READABLE, fact.number, what)
    tokens = [*(known or ()), token]
    if len(tokens) > MOST_ATTEMPTS:
        yield call.breaks(rules.CHAIN_LONG, fact.number, MOST_ATTEMPTS)
    keep(memory.chains, token, tokens)


def appearance(token: str) -> str:
    """What a token can be read as by anyone; empty when it says nothing."""
    if _JWT.fullmatch(token):
        return "a JSON Web Token"
    if _ADDRESS.fullmatch(token):
        return "an address"
    if _PATH.fullmatch(token):
        return "a path"
    return "JSON in base64" if _is_json(token) else ""


def _is_json(token: str) -> bool:
    padded = token + "=" * (-len(token) % 4)
    try:
        text = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
        return isinstance(json.loads(text), dict | list)
    except (binascii.Error, ValueError, RecursionError):
        return False
