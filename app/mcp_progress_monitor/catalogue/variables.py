"""Variables in clients' files: resolved, asked for, or kept as references."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.catalogue.clients import Syntax
from mcp_progress_monitor.catalogue.secrets import NOT_IN_NAMES, stored, variable_name
from mcp_progress_monitor.path_checks import home
from mcp_progress_monitor.secrets.references import REFERENCE, Keyring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

WORKSPACE: Final = "workspaceFolder"
HOME: Final = "userHome"
_VARIABLE: Final = re.compile(r"\$\{([^${}]+)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_SHELL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_PROJECT: Final = "CLAUDE_PROJECT_DIR"
"""A variable that Claude Code sets for the servers of a project: its folder."""
_ASKED_KINDS: Final = ("config:", "command:", "file:")


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """An input that only the user can provide; `default` is a valid answer.

    With `stands_as_text`, it is used in a command, folder or URL, which cannot contain references
    to the keyring: the answer is stored as text in our file.
    """

    id: str
    description: str = ""
    is_secret: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()
    stands_as_text: bool = False

    @property
    def can_be_asked(self) -> bool:
        """True for a secret that a reference can stand for."""
        return self.is_secret and not self.stands_as_text


@dataclasses.dataclass(frozen=True, slots=True)
class Variables:
    """The values of variables; `answers` are those of inputs, by id.

    Without `workspace`, the folder of the file's project is used, or else asked for; `home` is
    asked for if the system does not know it.
    """

    environment: Mapping[str, str] = dataclasses.field(default_factory=lambda: dict(os.environ))
    home: Path | None = dataclasses.field(default_factory=home)
    workspace: Path | None = None
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Resolver:
    """Resolves the variables in one server's entry; collects required inputs and notes."""

    def __init__(
        self, variables: Variables, syntax: Syntax, inputs: Mapping[str, Input] | None = None
    ) -> None:
        """`inputs` describe `${input:…}` variables; others have no description."""
        self._variables = variables
        self._syntax = syntax
        self._inputs = inputs or {}
        self._asks: dict[str, Input] = {}
        self._takes_reference = True
        self.notes: list[str] = []

    @property
    def asks(self) -> tuple[Input, ...]:
        """Inputs without an answer, in order of appearance."""
        return tuple(self._asks.values())

    def value(self, text: str) -> str:
        """Resolve a text that may contain references: environment variables become references."""
        return self._resolved(text, takes_reference=True)

    def plain(self, text: str) -> str:
        """Resolve a text without references: variables are replaced by their current values."""
        return self._resolved(text, takes_reference=False)

    def _resolved(self, text: str, *, takes_reference: bool) -> str:
        if self._syntax is Syntax.NONE or "$" not in text:
            return text
        self._takes_reference = takes_reference
        return _VARIABLE.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        if found[2] is not None:
            is_known = Syntax.DOLLAR in self._syntax
            return self._environment(found[2], None, found[0]) if is_known else found[0]
        name = found[1]
        if Syntax.NAMED in self._syntax:
            replaced = self._named(name, found[0])
            if replaced is not None:
                return replaced
        shell = _SHELL.fullmatch(name) if Syntax.SHELL in self._syntax else None
        if shell is None:
            return found[0]
        if shell[1] == _PROJECT and self._variables.workspace is not None:
            return str(self._variables.workspace)
        return self._environment(shell[1], shell[2], found[0])

    def _named(self, name: str, whole: str) -> str | None:
        """The value of a named variable; None if the name is unknown."""
        if name.startswith("env:"):
            return self._environment(name[4:], None, whole)
        if name.startswith("input:"):
            return self._asked(name[6:], self._inputs.get(name[6:], Input(name[6:])), whole)
        if name.startswith(_ASKED_KINDS):
            return self._asked(name, Input(name, f"Value for {whole}"), whole)
        meaning = _MEANINGS.get(name)
        return None if meaning is None else meaning(self, whole)

    def _environment(self, name: str, default: str | None, whole: str) -> str:
        value = self._variables.environment.get(name)
        if self._takes_reference and (value is not None or default is None):
            return f"${{env:{name}}}"
        if value is not None:
            self.notes.append(f"{name}: current value from the environment")
            return value
        if default is not None:
            self.notes.append(f"{name} is not set; its default is used")
            return default
        described = Input(f"env:{name}", f"{name} is not set in the environment")
        return self._asked(described.id, described, whole)

    def _asked(self, id_: str, described: Input, whole: str) -> str:
        answer = self._variables.answers.get(id_)
        is_text = not self._takes_reference
        if answer is not None and not (is_text and REFERENCE.search(answer)):
            return answer
        known = self._asks.get(id_, described)
        known = dataclasses.replace(known, stands_as_text=known.stands_as_text or is_text)
        self._asks[id_] = known
        return whole

    def workspace(self, whole: str) -> str:
        folder = self._variables.workspace
        if folder is not None:
            return str(folder)
        described = Input(WORKSPACE, f"Folder for {whole}")
        return self._asked_as_text(described, whole)

    def workspace_name(self, whole: str) -> str:
        folder = self.workspace(whole)
        return folder if folder == whole else Path(folder).name

    def home(self, whole: str) -> str:
        folder = self._variables.home
        if folder is not None:
            return str(folder)
        return self._asked_as_text(Input(HOME, f"Folder for {whole}"), whole)

    def separator(self, _whole: str) -> str:
        return os.sep

    def _asked_as_text(self, described: Input, whole: str) -> str:
        kept, self._takes_reference = self._takes_reference, True
        try:
            return self._asked(described.id, described, whole)
        finally:
            self._takes_reference = kept


_MEANINGS: Final[Mapping[str, Callable[[Resolver, str], str]]] = {
    WORKSPACE: Resolver.workspace,
    "workspaceRoot": Resolver.workspace,
    "cwd": Resolver.workspace,
    "workspaceFolderBasename": Resolver.workspace_name,
    HOME: Resolver.home,
    "pathSeparator": Resolver.separator,
    "/": Resolver.separator,
}


def read_inputs(found: object) -> dict[str, Input]:
    """The inputs described in a VS Code file, by id; invalid descriptions are ignored."""
    entries = found if isinstance(found, list) else []
    read = [_input(entry) for entry in entries if isinstance(entry, dict)]
    return {one.id: one for one in read if one.id}


def _input(entry: Mapping[str, object]) -> Input:
    options = entry.get("options")
    choices = [_choice(option) for option in options] if isinstance(options, list) else []
    default = entry.get("default")
    return Input(
        str(entry.get("id") or ""),
        str(entry.get("description") or ""),
        is_secret=entry.get("password") is True,
        default=default if isinstance(default, str) else None,
        choices=tuple(choices),
    )


def _choice(option: object) -> str:
    return str(option.get("value", "")) if isinstance(option, dict) else str(option)


def kept_answers(
    asks: Iterable[Input], answers: Mapping[str, str], keyring: Keyring, prefix: str
) -> dict[str, str]:
    """Store the answers to secret inputs in the keyring; returns answers with references to them.

    `prefix` starts their names there. May block for long: call it in a thread.

    Raises:
        UserError: the keyring is missing or locked.
    """
    secret = _secret_answers(asks, answers)
    kept = {id_: stored(f"{prefix}/{id_}", value, keyring) for id_, value in secret.items()}
    return {**answers, **kept}


def referred_answers(asks: Iterable[Input], answers: Mapping[str, str]) -> dict[str, str]:
    """The answers, with references to environment variables in place of secrets."""
    secret = _secret_answers(asks, answers)
    return {**answers, **{id_: f"${{env:{variable_name(id_)}}}" for id_ in secret}}


def postponed_answers(asks: Iterable[Input], answers: Mapping[str, str]) -> dict[str, str]:
    """The answers, with secrets to be asked for at each connection (`${ask:NAME}`).

    Secrets need no answer now.
    """
    secret = [each.id for each in asks if each.can_be_asked]
    given = {id_: answers.get(id_, "") for id_ in secret}
    kept = [id_ for id_, answer in given.items() if not REFERENCE.fullmatch(answer)]
    return {**answers, **{id_: f"${{ask:{NOT_IN_NAMES.sub('_', id_)}}}" for id_ in kept}}


def _secret_answers(asks: Iterable[Input], answers: Mapping[str, str]) -> dict[str, str]:
    """Answers to secret inputs that are not references."""
    wanted = [each.id for each in asks if each.can_be_asked]
    given = {id_: answers[id_] for id_ in wanted if answers.get(id_)}
    return {id_: answer for id_, answer in given.items() if not REFERENCE.fullmatch(answer)}
