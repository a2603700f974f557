"""Which server a saved chain goes on with: the same one, whatever it is called now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.store.chains import Origin


class ServerChangedError(ProblemError):
    """The job's server is defined otherwise now, or was removed: the user has to decide.

    `definition` is what the job was begun with. Resuming with `use_saved_definition` adds it as a
    server of its own.
    """

    def __init__(self, problem: Problem, definition: ServerDefinition) -> None:
        super().__init__(problem)
        self.definition = definition


def saved_definition(origin: Origin) -> ServerDefinition:
    """The definition that a chain was begun with; `ProblemError` when it cannot be read."""
    import pydantic  # here and not above: no start of the window waits for it

    from mcp_progress_monitor.sessions.definitions import read_definition

    try:
        return read_definition(origin.definition)
    except pydantic.ValidationError as error:
        raise ProblemError(
            Problem(
                "The saved definition of the job's server cannot be read",
                origin.server,
                "Add the server again and re-issue the request from the start.",
                str(error),
            )
        ) from error


def was_run(definition: ServerDefinition, origins: Iterable[Origin]) -> bool:
    """Whether exactly this was run for a chain, in the folder where it would be run now.

    What an earlier version saved names no folder, so that no relative command is taken for it.
    """
    keys = {definition.settled().fingerprint}
    if definition.deciding_folder is None:
        keys.add(definition.fingerprint)
    reached = definition.command if definition.transport == "stdio" else definition.url
    words = json.dumps(reached, ensure_ascii=False)  # of thousands of chains, few are read
    return any(words in origin.server_key and _saved_key(origin) in keys for origin in origins)


def _as_given(saved: ServerDefinition, key: str) -> ServerDefinition:
    """The saved definition, without its folder where we are in it and the user named none.

    What was set for a server, as rules for its questions, is found by what the user gave.
    """
    if saved.transport != "stdio":
        return saved
    given = saved.model_copy(update={"cwd": None})
    return given if given.job_key == key and given.settled() == saved else saved


def _saved_key(origin: Origin) -> str:
    try:
        return saved_definition(origin).fingerprint
    except ProblemError:
        return ""


def known_server(
    origin: Origin, servers: Iterable[ServerSnapshot], key_of: Callable[[str], str]
) -> str | None:
    """The name of the server that is what the chain's one was; a connected one if there are more.

    `key_of` tells what a server is to jobs. The same name wins among equals.
    """
    same = [server for server in servers if key_of(server.name) == origin.server_key]
    same.sort(key=lambda server: (not server.state.is_up, server.name != origin.server))
    return same[0].name if same else None


def definition_to_add(
    origin: Origin,
    names: Collection[str],
    removed: Collection[str],
    *,
    is_agreed: bool = False,
) -> ServerDefinition:
    """The definition to start the chain's server with, which is not known under any name.

    The user ran it before, so that it needs no further consent; unless the server with its name
    is another one now, or it was `removed` (by key), or it is a relative command of a folder that
    an earlier version did not save: then `ServerChangedError` asks, but for who has agreed.
    """
    saved = saved_definition(origin)
    definition = _as_given(saved, origin.server_key)
    hint = "Resume with the saved definition, or re-issue the request from the start."
    if is_agreed:
        return definition
    if origin.server in names:
        what = "The job's server is defined otherwise now than when the job was begun"
    elif origin.server_key in removed:
        what = "The job's server was removed"
    elif saved.deciding_folder is not None:
        what = "It is not known in which folder the job's server was started"
        hint = "Go to that folder, and name the server's command there: resume ID -- COMMAND"
    else:
        return definition
    detail = f"The job was begun with: {definition.address}"
    raise ServerChangedError(Problem(what, origin.server, hint, detail), definition)
