"""Which server a saved chain goes on with: the same one, whatever it is called now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from app.sessions.definitions import ServerDefinition
    from app.sessions.snapshot import ServerSnapshot
    from app.store.chains import Origin


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

    from app.sessions.definitions import read_definition

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


def known_server(origin: Origin, servers: Iterable[ServerSnapshot]) -> str | None:
    """The name of the server that is what the chain's one was; a connected one if there are more.

    The same name wins among equals.
    """
    same = [s for s in servers if s.definition.fingerprint == origin.server_key]
    same.sort(key=lambda server: (not server.state.is_up, server.name != origin.server))
    return same[0].name if same else None


def definition_to_add(
    origin: Origin, names: Collection[str], removed: Collection[str]
) -> ServerDefinition:
    """The definition to start the chain's server with, which is not known under any name.

    The user ran it before, so that it needs no further consent; unless the server with its name
    is another one now, or it was `removed` (fingerprints): then `ServerChangedError` asks.
    """
    definition = saved_definition(origin)
    if origin.server in names:
        what = "The job's server is defined otherwise now than when the job was begun"
    elif origin.server_key in removed:
        what = "The job's server was removed"
    else:
        return definition
    raise ServerChangedError(
        Problem(
            what,
            origin.server,
            "Resume with the saved definition, or re-issue the request from the start.",
            f"The job was begun with: {definition.address}",
        ),
        definition,
    )
