"""One server of another client's configuration: its definition, what is asked, what is told."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.catalogue.clients import OURS
from mcp_progress_monitor.catalogue.env_file import read_env_file
from mcp_progress_monitor.catalogue.fields import EXAMPLE, definition_of
from mcp_progress_monitor.catalogue.forms import form_of
from mcp_progress_monitor.catalogue.own_form import EXTRAS, extra_fields, unknown_members
from mcp_progress_monitor.catalogue.secrets import bare_url, secret_members, without_secret_members
from mcp_progress_monitor.catalogue.variables import Resolver
from mcp_progress_monitor.looking import expanded
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.sessions.references import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.catalogue.clients import Client
    from mcp_progress_monitor.catalogue.containers import Container
    from mcp_progress_monitor.catalogue.forms import Form
    from mcp_progress_monitor.catalogue.variables import Input, Variables
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

LONGEST_NAME: Final = 100
_LIMITS: Final = ("idle_timeout_s", "total_timeout_s")
_STAND_IN: Final = "http://an-answer.invalid"
_EXTRA_FIELDS: Final = ("era", "connect_timeout_s", "auth", "oauth")


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A server that a configuration names.

    While `asks` has anything, the definition is of no use: it is to be read again with the answers.
    `notes` tell what is different from how the other client runs it. `project` is the folder that
    it belongs to, if any. `unknown` are members that mean nothing to us.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    asks: tuple[Input, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    project: Path | None = None


def read_found(
    client: Client, name: str, container: Container, variables: Variables, where: str
) -> Found:
    """The server of that name.

    Raises:
        ProblemError: its entry cannot be used; what is wrong with it first.
    """
    entry = container.servers[name]
    if not isinstance(entry, dict):
        raise ProblemError(Problem("A server's entry is not an object", where, EXAMPLE))
    try:
        form = form_of(client, entry)
    except ProblemError as error:
        hint = error.problem.hint or EXAMPLE
        raise ProblemError(error.problem._replace(where=where, hint=hint)) from error
    project = container.project or variables.workspace
    resolver = Resolver(
        dataclasses.replace(variables, workspace=project), client.syntax, container.inputs
    )
    extras = entry.get(EXTRAS)
    extras = extras if isinstance(extras, dict) else {}
    fields = {
        "name": _shown_name(name, form),
        "transport": form.transport,
        **{limit: entry[limit] for limit in _LIMITS if limit in entry},
        **_resolved(form, resolver, project),
        **_of_extras(extras, form.transport, where),
    }
    definition = _definition(fields, where, is_open=bool(resolver.asks))
    unknown = _unknown(entry, form)
    notes = dict.fromkeys(filter(None, [container.note, *resolver.notes]))
    return Found(
        definition,
        is_disabled=_is_disabled(name, form, extras, container),
        asks=resolver.asks,
        notes=(*form.notes, *notes, *_notes(client, definition, unknown)),
        unknown=without_secret_members(unknown),
        project=project,
    )


def _notes(
    client: Client, definition: ServerDefinition, unknown: Mapping[str, Any]
) -> Iterator[str]:
    """What the user should know of secrets."""
    yield from _keyring_notes(client, definition)
    for name in secret_members(unknown):
        shown = text.one_line(name, LONGEST_NAME)
        yield f"{shown} is left out: it looks like a secret, and means nothing to this program"
    if isinstance(definition, HttpDefinition):
        for part in bare_url(definition.url)[1]:
            words = "the user's name and password" if part == "user" else text.one_line(part, 60)
            yield f"its URL holds a secret, {words}: it is saved as text"


def _shown_name(name: str, form: Form) -> str:
    """A name that can be shown and typed; an entry without one is refused with the definition."""
    shown = text.one_line(name, LONGEST_NAME).strip()
    if shown != name:
        what = "made readable" if len(name) <= LONGEST_NAME else "cut"
        form.notes.append(f"its name was {what}")
    return shown


def _of_extras(extras: Mapping[str, Any], transport: str, where: str) -> dict[str, Any]:
    fields = extra_fields(extras, where)
    if transport == "stdio":
        fields = {name: value for name, value in fields.items() if name not in {"auth", "oauth"}}
    return fields


def _is_disabled(name: str, form: Form, extras: Mapping[str, Any], container: Container) -> bool:
    is_left_out = container.allowed is not None and name not in container.allowed
    return (
        form.is_disabled
        or is_left_out
        or name in container.disabled
        or extras.get("disabled") is True
    )


def _unknown(entry: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """What neither the client's form nor our extras make something of."""
    return {key: value for key, value in unknown_members(entry).items() if key not in form.used}


def _resolved(form: Form, resolver: Resolver, project: Path | None) -> dict[str, Any]:
    """The fields with what their variables stand for; what is no text is left for the checks."""
    found = form.members
    fields: dict[str, Any] = {
        name: resolver.plain(found[name]) if isinstance(found[name], str) else found[name]
        for name in ("command", "cwd", "url")
        if name in found
    }
    if isinstance(found.get("args"), list):
        fields["args"] = [_text(resolver, value) for value in found["args"]]
    elif "args" in found:
        fields["args"] = found["args"]
    for name in ("env", "headers"):
        if name in found:
            fields[name] = _texts(resolver, found[name])
    if form.transport == "stdio":
        _add_env_file(form, resolver, fields, project)
        _set_folder(fields, project)
    if "oauth" in found:
        fields["oauth"] = {
            name: _text(resolver, value)
            if name == "client_secret"
            else resolver.plain(value)
            if isinstance(value, str)
            else value
            for name, value in found["oauth"].items()
        }
    return {**{name: found[name] for name in _EXTRA_FIELDS if name in found}, **fields}


def _texts(resolver: Resolver, values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {name: _text(resolver, value) for name, value in values.items()}


def _text(resolver: Resolver, value: Any) -> Any:
    return resolver.value(value) if isinstance(value, str) else value


def _set_folder(fields: dict[str, Any], project: Path | None) -> None:
    """Servers of a project are started in its folder, and their paths count from there."""
    folder = fields.get("cwd")
    if isinstance(folder, str) and "${" not in folder:
        home = str(expanded(Path(folder))) if folder.startswith("~") else folder
        fields["cwd"] = home if project is None else str(project / home)
    elif folder is None and project is not None:
        fields["cwd"] = str(project)


def _add_env_file(
    form: Form, resolver: Resolver, fields: dict[str, Any], project: Path | None
) -> None:
    """Variables from the file that the entry names, below those of the entry itself."""
    if not isinstance(form.env_file, str):
        return
    written = resolver.plain(form.env_file)
    if "${" in written:
        return
    path = expanded(Path(written))
    path = path if project is None else project / path
    try:
        variables = read_env_file(path)
    except ProblemError as error:
        reason = error.problem.detail or error.problem.what
        form.notes.append(f"its envFile {path} is left out: {reason}")
        return
    count = text.count(len(variables), "variable")
    form.notes.append(f"{count} of envFile {path} taken as they are now")
    env = fields.get("env", {})
    if isinstance(env, dict):
        fields["env"] = {**variables, **env}


def _definition(fields: dict[str, Any], where: str, *, is_open: bool) -> ServerDefinition:
    try:
        return definition_of(fields, where)
    except ProblemError:
        if not is_open or fields["transport"] == "stdio":
            raise
        return definition_of({**fields, "url": _STAND_IN}, where)  # until there are answers


def _keyring_notes(client: Client, definition: ServerDefinition) -> list[str]:
    """Secrets of this program that another one's file would have: the user must know."""
    if client is OURS:
        return []
    if isinstance(definition, StdioDefinition):
        values = [*definition.env.values(), *definition.args]
    else:
        values = [*definition.headers.values(), definition.oauth.client_secret or ""]
    named = [name for value in values for kind, name in names_in(value) if kind == "keyring"]
    return [f"it is given the secret {name!r} of the keyring" for name in sorted(set(named))]
