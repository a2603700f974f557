"""Checking messages against a revision's schema with `mcp_types`: advice, never a gate.

`mcp_types` takes a quarter of a second to import, so it is imported when first needed.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from app.protocol.eras import REVISIONS, as_object
from app.protocol.facts import Side
from app.protocol.jsonrpc import Elided, Envelope, Kind, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import TypeAdapter, ValidationError

_MOST_PROBLEMS = 20

# mcp_types leaves tasks out of every revision's tables, and their messages are no errors.
_NOT_COVERED = ("tasks/", "notifications/tasks/")


def check(
    message: Envelope, sender: Side, revision: str, method: str | None = None
) -> tuple[str, ...]:
    """What the schema of `revision` finds wrong with a message, in words.

    For a result, `method` is that of the request it answers. Errors, tasks, results without
    `method` and messages that are too large to be decoded whole are not checked.
    """
    name = method if message.kind is Kind.RESULT else message.method
    if revision not in REVISIONS or name is None or name.startswith(_NOT_COVERED):
        return ()
    if _is_partly_decoded(message):
        return ()
    if message.kind not in {Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT}:
        return ()
    if message.kind is Kind.RESULT and _is_task(message.result):
        return ()
    schema = _schema(message.kind, sender, name, revision)
    if schema is None:
        return (f"{name} from this side is not defined in {revision}",)
    return _check(schema, message.result if message.kind is Kind.RESULT else _body(message))


def _body(message: Envelope) -> dict[str, Any]:
    """A call as the schemas have it; the form of its id was checked when it was read."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": message.method}
    if message.params is not None:
        body["params"] = message.params
    if message.kind is Kind.REQUEST:
        body["id"] = 0
    return body


def _is_partly_decoded(message: Envelope) -> bool:
    payload = message.result if message.kind is Kind.RESULT else message.params
    return any(isinstance(value, Elided) for value in (payload, *as_object(payload).values()))


def _is_task(result: Any) -> bool:
    members = as_object(result)
    return "task" in members or members.get("resultType") == "task"


@functools.cache
def _schema(kind: Kind, sender: Side, method: str, revision: str) -> TypeAdapter[Any] | None:
    """The validator of one message, None if `revision` does not define it for `sender`."""
    from mcp_types import methods
    from pydantic import TypeAdapter

    tables: dict[tuple[Kind, Side], Mapping[tuple[str, str], Any]] = {
        (Kind.REQUEST, Side.CLIENT): methods.CLIENT_REQUESTS,
        (Kind.REQUEST, Side.SERVER): methods.SERVER_REQUESTS,
        (Kind.NOTIFICATION, Side.CLIENT): methods.CLIENT_NOTIFICATIONS,
        (Kind.NOTIFICATION, Side.SERVER): methods.SERVER_NOTIFICATIONS,
        (Kind.RESULT, Side.CLIENT): methods.CLIENT_RESULTS,
        (Kind.RESULT, Side.SERVER): methods.SERVER_RESULTS,
    }
    shape = tables[kind, sender].get((method, revision))
    return None if shape is None else TypeAdapter(shape)


def _check(schema: TypeAdapter[Any], body: object) -> tuple[str, ...]:
    from pydantic import ValidationError

    try:
        # From JSON, because strict Python values would have to be dates and URLs already.
        schema.validate_json(canonical(body), strict=True, by_name=False)
    except ValidationError as error:
        return _in_words(error)
    return ()


def _in_words(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    words = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found[:_MOST_PROBLEMS]]
    if len(found) > _MOST_PROBLEMS:
        words.append(f"and {len(found) - _MOST_PROBLEMS} more")
    return tuple(words)
