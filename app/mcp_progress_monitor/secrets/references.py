"""References to secrets in a definition: `${env:NAME}`, `${keyring:NAME}`, `${ask:NAME}`.

So that a catalogue, a saved job or an export has the reference, and never the secret. Whatever else
begins with `${` stands as it is: other kinds, names without a kind, and what is not closed.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor.errors import ErrorDetails, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE: Final = re.compile(r"\$\{(env|keyring|ask):([^${}]+)\}")
"""Kind and name of a reference; the rest of a value stands as it is."""
DOTS: Final = "\N{BULLET}" * 8  # stands for a secret, however long it is
NOTHING_ASKED: Final[Mapping[str, str]] = MappingProxyType({})
_SCHEME: Final = re.compile(r"(?:Basic|Bearer|Digest|DPoP|Token) +", re.IGNORECASE)


class Keyring(Protocol):
    """The system's store of secrets. All of it may take long: called in a thread."""

    def get(self, name: str) -> str | None:
        """The secret of that name, None if there is none; `UserError` without a keyring."""

    def put(self, name: str, secret: str) -> None:
        """Keep a secret; `UserError` when that cannot be."""

    def forget(self, name: str) -> None:
        """Delete a secret, if it exists; raises `UserError` if that fails."""


class NoKeyring:
    """For who has no use for one."""

    def get(self, _name: str) -> str | None:
        return None

    def put(self, name: str, _secret: str) -> None:
        hint = "Refer to a variable of your environment instead: ${env:NAME}."
        raise UserError(ErrorDetails("No keyring is available", name, hint))

    def forget(self, _name: str) -> None:
        """Nothing is kept here."""


def names_in(value: str) -> list[tuple[str, str]]:
    return REFERENCE.findall(value)


def with_environment(value: str) -> str:
    """`value` with its references to the environment resolved; others are unchanged."""

    def found(match: re.Match[str]) -> str:
        return os.environ.get(match[2], match[0]) if match[1] == "env" else match[0]

    return REFERENCE.sub(found, value)


def masked(value: str) -> str:
    """A value to be shown: its references as they are, and dots in place of all else.

    The scheme of a credential stays as well: `Bearer` before a reference, or before dots.
    """
    scheme = _SCHEME.match(value)
    begin = scheme[0] if scheme else ""
    shown, end = [begin], len(begin)
    for found in REFERENCE.finditer(value):
        shown += [DOTS if found.start() > end else "", found[0]]
        end = found.end()
    return "".join([*shown, DOTS if end < len(value) else ""])


async def resolved(
    values: Mapping[str, str],
    keyring: Keyring,
    where: str,
    secrets: set[str] | None = None,
    asked: Mapping[str, str] = NOTHING_ASKED,
) -> dict[str, str]:
    """`values` with their references resolved; the resolved secrets are added to `secrets`.

    `asked` are the secrets that the user entered for this connection, by name.

    Raises:
        UserError: something is referred to that does not exist, or cannot be read; `where`
            names whose values they are.
    """
    if not any(map(REFERENCE.search, values.values())):
        return dict(values)
    import anyio.to_thread  # late: a list of servers resolves none

    # A keyring may ask the user to unlock it: who gives up meanwhile is not kept waiting.
    texts, found = await anyio.to_thread.run_sync(
        _resolved, dict(values), keyring, where, asked, abandon_on_cancel=True
    )
    if secrets is not None:
        secrets |= found
    return texts


def _resolved(
    values: Mapping[str, str], keyring: Keyring, where: str, asked: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    secrets: set[str] = set()

    def found(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        match kind:
            case "env":
                value = os.environ.get(name)
            case "keyring":
                value = keyring.get(name)
            case _:
                value = asked.get(name)
        if value is None:
            raise UserError(_missing(kind, name, where))
        secrets.add(value)
        return value

    return {name: REFERENCE.sub(found, value) for name, value in values.items()}, secrets


def _missing(kind: str, name: str, where: str) -> ErrorDetails:
    if kind == "env":
        hint = f"Set {name} before starting this program, or edit the server."
        return ErrorDetails(f"The environment variable {name} is not set", where, hint)
    if kind == "ask":
        what = f"The secret {name!r} was not entered"
        return ErrorDetails(what, where, "Connect the server again to be asked.")
    hint = "Edit the server and enter the secret again."
    return ErrorDetails(f"The secret {name!r} is not in the system's keyring", where, hint)
