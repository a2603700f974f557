"""Checking messages against a revision's schema with `mcp_types`: advice, never a gate.

`mcp_types` takes a quarter of a second to import, so it is imported when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.protocol.eras import REVISIONS, as_object
from app.protocol.facts import Side
from app.protocol.jsonrpc import Envelope, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

_MOST_PROBLEMS = 20

# mcp_types leaves tasks out of every revision's tables, and their messages are no errors.
_NOT_COVERED = ("tasks/", "notifications/tasks/")


def check(
    message: Envelope, sender: Side, revision: str, method: str | None = None
) -> tuple[str, ...]:
    """What the schema of `revision` finds wrong with a message, in words.

    For a result, `method` is that of the request it answers; without it, and for what is
    neither a call nor a result, nothing is checked.
    """
    name = method if message.kind is Kind.RESULT else message.method
    if revision not in REVISIONS or name is None or name.startswith(_NOT_COVERED):
        return ()
    if message.kind is Kind.RESULT:
        if _is_task(message.result):
            return ()
        return _check(_tables()[message.kind, sender], name, revision, message.result)
    if message.kind not in {Kind.REQUEST, Kind.NOTIFICATION}:
        return ()
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": name}
    if message.params is not None:
        body["params"] = message.params
    if message.kind is Kind.REQUEST:
        body["id"] = 0  # the form of an id is checked when it is read
    return _check(_tables()[message.kind, sender], name, revision, body)


def _is_task(result: Any) -> bool:
    members = as_object(result)
    return "task" in members or members.get("resultType") == "task"


def _tables() -> dict[tuple[Kind, Side], Mapping[tuple[str, str], Any]]:
    from mcp_types import methods

    return {
        (Kind.REQUEST, Side.CLIENT): methods.CLIENT_REQUESTS,
        (Kind.REQUEST, Side.SERVER): methods.SERVER_REQUESTS,
        (Kind.NOTIFICATION, Side.CLIENT): methods.CLIENT_NOTIFICATIONS,
        (Kind.NOTIFICATION, Side.SERVER): methods.SERVER_NOTIFICATIONS,
        (Kind.RESULT, Side.CLIENT): methods.CLIENT_RESULTS,
        (Kind.RESULT, Side.SERVER): methods.SERVER_RESULTS,
    }


def _check(
    table: Mapping[tuple[str, str], Any], method: str, revision: str, body: object
) -> tuple[str, ...]:
    from pydantic import TypeAdapter, ValidationError

    shape = table.get((method, revision))
    if shape is None:
        return (f"{method} from this side is not defined in {revision}",)
    try:
        TypeAdapter(shape).validate_python(body, by_name=False)
    except ValidationError as error:
        return _in_words(error)
    return ()


def _in_words(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    words = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found[:_MOST_PROBLEMS]]
    if len(found) > _MOST_PROBLEMS:
        words.append(f"and {len(found) - _MOST_PROBLEMS} more")
    return tuple(words)
