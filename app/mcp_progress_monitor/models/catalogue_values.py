"""Variables and headers as they are entered: as text, or as references to where they stand."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.protocol.secret_names import is_secret_setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_REFERENCE: Final = re.compile(r"((?:Bearer|Basic|Token) )?\$\{(env|keyring):([^${}]+)\}")
"""A value that is one reference, perhaps after the scheme of an `Authorization` header."""
_NO_NAME: Final = re.compile(r"[${}\x00-\x1f]")
_CONTEXT: Final = "Catalogue"


class ValueKind(enum.Enum):
    """Where a value stands; the values are words of the references."""

    TEXT = "text"
    ENVIRONMENT = "env"
    KEYRING = "keyring"


class Entered(NamedTuple):
    """A variable or a header as it is entered.

    `value` is the text, the name of the variable that has it, or the name that it goes under in
    the keyring. `scheme` stands before a reference ("Bearer "). `secret` is what is to be put into
    the keyring; None leaves there what is there.
    """

    name: str
    kind: ValueKind = ValueKind.TEXT
    value: str = ""
    scheme: str = ""
    secret: str | None = None

    @property
    def written(self) -> str:
        """The value as it stands in a definition."""
        if self.kind is ValueKind.TEXT:
            return self.scheme + self.value
        return f"{self.scheme}${{{self.kind.value}:{self.value}}}"


def kind_word(kind: ValueKind) -> str:
    """The kind in the user's language."""
    words = {
        ValueKind.TEXT: "Text",
        ValueKind.ENVIRONMENT: "From environment",
        ValueKind.KEYRING: "From keyring",
    }
    return QCoreApplication.translate(_CONTEXT, words[kind])


def entered(name: str, written: str) -> Entered:
    """What was entered for a value that stands in a definition as `written`."""
    found = _REFERENCE.fullmatch(written)
    if found is not None:
        return Entered(name, ValueKind(found[2]), found[3], found[1] or "")
    if name.casefold() == "authorization" and written.startswith("Bearer "):
        return Entered(name, ValueKind.TEXT, written[len("Bearer ") :], "Bearer ")
    return Entered(name, ValueKind.TEXT, written)


def all_entered(values: Mapping[str, str]) -> tuple[Entered, ...]:
    """What was entered for the variables, or headers, of a definition."""
    return tuple(entered(name, written) for name, written in values.items())


def for_keyring(server: str, value: Entered) -> Entered:
    """`value` with the name that its new secret goes under: the server's and its own.

    Not that of the secret before: a copy of this server may use it.
    """
    if value.kind is not ValueKind.KEYRING or not value.secret:
        return value
    return value._replace(value=_NO_NAME.sub("_", f"{server}/{value.name}"))


def secrets_of(values: Iterable[Entered]) -> dict[str, str]:
    """What is to be put into the keyring, by the names that `for_keyring` gave."""
    return {v.value: v.secret for v in values if v.kind is ValueKind.KEYRING and v.secret}


def readable_secrets(values: Iterable[Entered]) -> list[str]:
    """Names of values that look like secrets and would stand in the file as they are."""
    return [
        v.name
        for v in values
        if v.kind is ValueKind.TEXT
        and v.value
        and is_secret_setting(v.name)
        and "${" not in v.value
    ]


def problem_of(value: Entered, *, has_keyring: bool) -> str:
    """What is wrong with one row, in words; empty when nothing is."""
    if not value.name:
        return _tr("Give it a name, or remove the row.")
    if value.kind is ValueKind.ENVIRONMENT and not value.value:
        return _tr("Name the variable of your environment that has the value.")
    if value.kind is not ValueKind.KEYRING:
        return ""
    if not value.value and not value.secret:
        return _tr("Enter the secret that is to be put into the keyring.")
    if value.secret and not has_keyring:
        return _tr(
            "There is no keyring here. Take the value from the environment, or keep it as text: "
            "it then stands readable in the catalogue's file."
        )
    return ""


def doubled(values: Iterable[Entered], *, ignores_case: bool) -> set[int]:
    """Rows whose name stands above already."""
    seen: set[str] = set()
    found = set()
    for row, value in enumerate(values):
        name = value.name.casefold() if ignores_case else value.name
        if name and name in seen:
            found.add(row)
        seen.add(name)
    return found


def _tr(words: str) -> str:
    return QCoreApplication.translate(_CONTEXT, words)
