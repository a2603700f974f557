"""Asks for the secrets of a server (`${ask:NAME}`) before it is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class SecretPrompt(Protocol):
    """Asks the user for secrets of a server, by name; returns None if the user cancels."""

    async def __call__(self, server: str, names: Sequence[str]) -> Mapping[str, str] | None: ...


class SecretsAtConnect:
    """Asks for the secrets that a server needs and that were not entered; one prompt at a time.

    The secrets are kept in the `held` of the caller, in memory alone.
    """

    def __init__(self, prompt: SecretPrompt | None = None) -> None:
        """Without `prompt`, secrets cannot be asked for."""
        self._prompt = prompt
        self._turn = anyio.Lock()
        self._servers: list[str] = []

    async def ask(self, definition: ServerDefinition, held: dict[str, str]) -> None:
        """Ask for what is missing in `held`; `UserError` if it is not entered.

        Connecting a server twice asks once: whoever cancels that, cancels both.
        """
        if not _missing(definition, held):
            return
        server = definition.name
        is_asked_already = server in self._servers
        self._servers.append(server)
        try:
            async with self._turn:
                names = _missing(definition, held)
                if not names:
                    return
                if self._prompt is None:
                    raise UserError(_nobody(server, names))
                entered = None if is_asked_already else await self._prompt(server, names)
                if entered is None or not all(entered.get(name) for name in names):
                    raise UserError(_not_entered(server, names))
                held.update(entered)
        finally:
            self._servers.remove(server)

    def require(self, definition: ServerDefinition, held: Mapping[str, str]) -> None:
        """`UserError` if a secret is missing: automatic reconnects do not ask."""
        names = _missing(definition, held)
        if names:
            raise UserError(_not_entered(definition.name, names))


def _missing(definition: ServerDefinition, held: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the secrets to ask for, in order of appearance."""
    if definition.transport == "stdio":
        values = (*definition.env.values(), *definition.args)
    else:
        secret = definition.oauth.client_secret if definition.auth == "oauth" else None
        values = (*definition.headers.values(), secret or "")
    found = (name for value in values for kind, name in names_in(value) if kind == "ask")
    return tuple(dict.fromkeys(name for name in found if name not in held))


def _not_entered(server: str, names: Sequence[str]) -> ErrorDetails:
    what = f"The server stays disconnected: {', '.join(names)} not entered"
    return ErrorDetails(what, server, "Connect it again to be asked.")


def _nobody(server: str, names: Sequence[str]) -> ErrorDetails:
    what = f"The server needs {', '.join(names)} at each connection, but there is nobody to ask"
    hint = (
        "Run the command on a terminal, or edit the server and refer to an environment variable:"
        " ${env:NAME}."
    )
    return ErrorDetails(what, server, hint)
