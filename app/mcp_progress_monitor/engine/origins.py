"""The origin of a job: its server and its first request, saved for later runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    META,
    PROGRESS_TOKEN,
    RESUME_TOKEN,
    VERSION_KEY,
)
from mcp_progress_monitor.protocol.peer import AUTO, TokenChoice
from mcp_progress_monitor.store.chains import Origin
from mcp_progress_monitor.store.watched import split_watched_key
from mcp_progress_monitor.tracker.chain import without_resume_token

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobDetail

_STAMPS = frozenset({VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY})
_OF_ONE_REQUEST = _STAMPS | {PROGRESS_TOKEN}


def first_sent(raw: bytes) -> JsonObject:
    """The parameters that every attempt of a chain sends, from the bytes of one request.

    That is everything except the resume token and the stamps, which are new for each request; a
    progress token stays, in `_meta`.
    """
    params = json.loads(raw).get("params")
    return lasting(params if isinstance(params, dict) else {})


def lasting(params: JsonObject) -> JsonObject:
    """`params` without what belongs to a single attempt."""
    return _without(without_resume_token(params), _STAMPS)


def resumed(params: JsonObject, token: str) -> JsonObject:
    """`params` as first sent, with a resume token: nothing else may change."""
    meta = params.get(META, {})
    return {**params, META: {**meta, RESUME_TOKEN: token}}


def from_the_start(params: JsonObject) -> JsonObject:
    """`params` for re-issuing the request: without what belongs to a single request."""
    return _without(without_resume_token(params), _OF_ONE_REQUEST)


def progress_token(params: JsonObject) -> str | int | None:
    """The progress token that every attempt sends; None if there is no valid one."""
    meta = params.get(META)
    token = meta.get(PROGRESS_TOKEN) if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def is_whole(value: Any) -> bool:
    """Return whether a value was decoded completely; oversized messages are not."""
    if isinstance(value, dict):
        return all(map(is_whole, value.values()))
    if isinstance(value, Elided):
        return False
    return not isinstance(value, list) or all(map(is_whole, value))


def _without(params: JsonObject, names: frozenset[str]) -> JsonObject:
    meta = params.get(META)
    if not isinstance(meta, dict):
        return params
    kept = {name: value for name, value in meta.items() if name not in names}
    rest = {name: value for name, value in params.items() if name != META}
    return {**rest, META: kept} if kept else rest


def origin_of(job: JobDetail, server: ServerSnapshot, key: str, sent: bytes | None) -> Origin:
    """The request of a job with its server, identified by `key` (see `SessionManager.key_of`).

    `sent` are its bytes, if available. The server is saved with its working folder: elsewhere,
    relative paths in its command would name other programs.
    """
    return Origin(
        server.name,
        key,
        server.definition.settled().model_dump_json(),
        server.revision or "",
        job.snapshot.method,
        origin_params(sent, job.params),
    )


def origin_params(sent: bytes | None, known: JsonObject) -> JsonObject:
    """A request's lasting parameters, from its bytes if available.

    Raises:
        UserError: what is `known` instead is only the outline of an oversized request.
    """
    if sent is not None:
        return first_sent(sent)
    if not is_whole(known):
        raise UserError(
            ErrorDetails(
                "The request is too large to be sent again from this program",
                hint="Copy it from the recording.",
            )
        )
    return lasting(known)


def token_like(token: object, integers: Iterator[int]) -> TokenChoice:
    """A new progress token of the same kind as `token`; none if that is None."""
    if token is None:
        return None
    return next(integers) if isinstance(token, int) else AUTO


class ServerChangedError(UserError):
    """The job's server was redefined or removed: the user must decide.

    `definition` is the one that the job began with. Resuming with `use_saved_definition` adds it as
    a new server.
    """

    def __init__(self, error: ErrorDetails, definition: ServerDefinition) -> None:
        super().__init__(error)
        self.definition = definition


def saved_definition(origin: Origin) -> ServerDefinition:
    """The definition that a chain began with; `UserError` if it cannot be read."""
    from pydantic import ValidationError

    from mcp_progress_monitor.snapshots.definitions import read_definition
    from mcp_progress_monitor.validation import described

    try:
        return read_definition(origin.definition)
    except ValidationError as error:
        raise UserError(
            ErrorDetails(
                "The saved definition of the job's server cannot be read",
                origin.server,
                "Add the server again and re-issue the request from the start.",
                described(error),
            )
        ) from error


def was_run(definition: ServerDefinition, origins: Iterable[Origin]) -> bool:
    """Return whether exactly this was run for a chain, in the folder where it would run now.

    Earlier versions saved no folder, so their relative commands do not match.
    """
    keys = {definition.settled().fingerprint}
    if definition.deciding_folder is None:
        keys.add(definition.fingerprint)
    reached = definition.command if definition.transport == "stdio" else definition.url
    text = json.dumps(reached, ensure_ascii=False)  # few of thousands of chains are read
    return any(
        text in origin.server_key
        and split_watched_key(origin.server_key) is None  # approved elsewhere, not here
        and _saved_key(origin) in keys
        for origin in origins
    )


def _as_given(saved: ServerDefinition, key: str) -> ServerDefinition:
    """The saved definition, without its folder if that is the current one and was not set.

    A server's settings, such as question rules, are found by what the user entered.
    """
    if saved.transport != "stdio":
        return saved
    given = saved.model_copy(update={"cwd": None})
    return given if given.job_key == key and given.settled() == saved else saved


def _saved_key(origin: Origin) -> str:
    try:
        return saved_definition(origin).fingerprint
    except UserError:
        return ""


def known_server(
    origin: Origin, servers: Iterable[ServerSnapshot], key_of: Callable[[str], str]
) -> str | None:
    """The name of the server that the chain began with; a connected one if there are several.

    `key_of` returns a server's identity. Among equals, the same name wins.
    """
    same = [server for server in servers if key_of(server.name) == origin.server_key]
    same.sort(key=lambda server: (not server.state.is_up, server.name != origin.server))
    return same[0].name if same else None


def definition_to_add(
    origin: Origin, names: Collection[str], removed: Collection[str], *, is_approved: bool = False
) -> ServerDefinition:
    """The definition to add for the chain's server, which is not in the list.

    The user ran it before, so it needs no further approval. `ServerChangedError` asks the user if
    the server with its name has changed, it was `removed` (by key), or it is a relative command of
    an unknown folder; not if `is_approved`.
    """
    saved = saved_definition(origin)
    definition = _as_given(saved, origin.server_key)
    hint = "Resume with the saved definition, or re-issue the request from the start."
    if is_approved:
        return definition
    if origin.server in names:
        what = "The definition of the job's server has changed since the job started"
    elif origin.server_key in removed:
        what = "The job's server was removed"
    elif saved.deciding_folder is not None:
        what = "The folder in which the job's server was started is not known"
        hint = "Change to that folder and pass the server's command: resume ID -- COMMAND"
    else:
        return definition
    detail = f"The job was started with: {definition.address}"
    raise ServerChangedError(ErrorDetails(what, origin.server, hint, detail), definition)


class WatchedServerError(UserError):
    """The request belongs to another client's server, which is not approved here.

    `origin` is the request with its server. Retry after `Resumer.use_here` was given a definition
    of the server that the user approved.
    """

    def __init__(self, origin: Origin, client: str) -> None:
        what = f"The server of this job was started by {client} and has not been approved here"
        hint = "Approve its command to connect it here."
        super().__init__(ErrorDetails(what, origin.server, hint))
        self.origin = origin


def only_watched(client: str, server: str) -> UserError:
    """The error for acting on another client's job: nothing is sent on its connection."""
    what = f"This job belongs to {client} and is only watched here"
    return UserError(ErrorDetails(what, server, f"Use {client} to change it."))
