"""Finds the secrets in a definition, replaces them by references, and compares saved ones."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.secrets import (
    holds_login,
    is_literal,
    is_secret_parameter,
    is_secret_setting,
    replaced_arguments,
    replaced_in_header,
)
from mcp_progress_monitor.secrets.references import REFERENCE, Keyring, names_in
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.protocol.secrets import Substitute
    from mcp_progress_monitor.snapshots.definitions import OAuthClient, ServerDefinition

NOT_IN_NAMES: Final = re.compile(r"[${}]")  # characters that would end a reference
FROM_US: Final = {"keyring": "from the keyring", "ask": "asked for at each connection"}
_MOST_OF_A_NAME: Final = 100
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9]+")


def secrets_of(definition: ServerDefinition) -> dict[str, str]:
    """Literal values in a definition whose names look like secrets, by name.

    Includes variables with a password in a URL.
    """
    found: dict[str, str] = {}

    def note(name: str, value: str) -> str:
        found[name] = value
        return value

    replaced(definition, note, is_secret_setting)
    return found


def in_keyring(definition: ServerDefinition, keyring: Keyring) -> ServerDefinition:
    """Store the definition's secrets in the keyring and replace them by references.

    May block for long: call it in a thread.

    Raises:
        UserError: the keyring is missing or locked.
    """

    def put(name: str, value: str) -> str:
        return stored(keyring_name(definition.name, name), value, keyring)

    return replaced(definition, put, is_secret_setting)


def keyring_name(server: str, name: str) -> str:
    return NOT_IN_NAMES.sub("_", f"{server}/{name}")


def stored(name: str, secret: str, keyring: Keyring) -> str:
    """Store a secret in the keyring and return a reference to it.

    Never overwrites another secret, which another server may refer to: appends a number to the
    name instead.
    """
    base = free = NOT_IN_NAMES.sub("_", name)
    number = 2
    while keyring.get(free) not in {None, secret}:
        if number > _MOST_OF_A_NAME:
            hint = "Delete unused ones with your keyring application."
            raise UserError(
                ErrorDetails("The keyring has too many secrets with this name", base, hint)
            )
        free = f"{base} {number}"
        number += 1
    keyring.put(free, secret)
    return f"${{keyring:{free}}}"


def keyring_names(value: Any) -> frozenset[str]:
    """Names of all keyring secrets referred to in a JSON value."""
    return _referred_to(value, "keyring")


def environment_names(value: Any) -> frozenset[str]:
    """Names of all environment variables referred to in a JSON value."""
    return _referred_to(value, "env")


def _referred_to(value: Any, kind: str) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(name for of, name in names_in(value) if of == kind)
    if isinstance(value, dict):
        value = (*value, *value.values())
    elif not isinstance(value, list | tuple):
        return frozenset()
    return frozenset().union(*(_referred_to(inner, kind) for inner in value))


def in_environment(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """The definition with environment variables in place of secrets, which are not stored.

    Also returns the variables, with the names of the secrets that they replace.
    """
    return _without(definition, is_secret_setting)


def asked_for(definition: ServerDefinition) -> ServerDefinition:
    """The definition with its secrets to be asked for at each connection (`${ask:NAME}`)."""
    values: dict[str, str] = {}

    def refer(name: str, value: str) -> str:
        return f"${{ask:{_free(NOT_IN_NAMES.sub('_', name), value, values)}}}"

    return replaced(definition, refer, is_secret_setting)


def without_values(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """Like `in_environment`, but for every value of a variable or header."""
    return _without(definition, lambda _name: True)


def in_environment_alone(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """The definition with environment variables in place of secrets that only we can find.

    These are secrets of the keyring, and those to ask for. Also returns the variables, with a text
    about the secrets that they replace.
    """
    variables: dict[str, str] = {}

    def refer(place: str, value: str) -> str:
        for kind, name in names_in(value):
            if kind != "env":
                reference, last = f"${{{kind}:{name}}}", name.rpartition("/")[2]
                is_whole = bool(place) and value == reference
                variable = place if is_whole else _variable(definition.name, last)
                variables[variable] = f"{name} {FROM_US[kind]}"
                value = value.replace(reference, f"${{env:{variable}}}")
        return value

    if definition.transport == "stdio":
        env = {name: refer(name, value) for name, value in definition.env.items()}
        args = tuple(refer("", word) for word in definition.args)
        return definition.model_copy(update={"env": env, "args": args}), variables
    headers = {name: refer("", value) for name, value in definition.headers.items()}
    secret = definition.oauth.client_secret
    kept = None if secret is None else refer("", secret)
    oauth = definition.oauth.model_copy(update={"client_secret": kept})
    return definition.model_copy(update={"headers": headers, "oauth": oauth}), variables


def _without(
    definition: ServerDefinition, is_wanted: Callable[[str], bool]
) -> tuple[ServerDefinition, dict[str, str]]:
    variables: dict[str, str] = {}
    values: dict[str, str] = {}

    def refer(name: str, value: str) -> str:
        is_variable = definition.transport == "stdio" and name in definition.env
        base = name if is_variable else _variable(definition.name, name)
        variable = _free(base, value, values)
        variables[variable] = name
        return f"${{env:{variable}}}"

    return replaced(definition, refer, is_wanted), variables


def _free(base: str, value: str, values: dict[str, str]) -> str:
    """A name for `value`, which is added to `values`: two passwords have two names."""
    name, number = base, 2
    while values.setdefault(name, value) != value:
        name = f"{base}_{number}"
        number += 1
    return name


def _variable(server: str, name: str) -> str:
    """The name of a variable for a server's secret: `GITHUB_AUTHORIZATION`."""
    return variable_name(f"{server}_{name}")


def variable_name(text: str) -> str:
    """The name of an environment variable for a text: `API_KEY` for `api-key`."""
    return _NOT_OF_NAMES.sub("_", text).strip("_").upper() or "SECRET"


def replaced(
    definition: ServerDefinition, substitute: Substitute, is_wanted: Callable[[str], bool]
) -> ServerDefinition:
    """The definition with substitutes for literal secrets.

    These are variables and headers whose name `is_wanted`, variables with a password in a URL, and
    arguments and OAuth settings named like a secret. A header keeps its scheme (`Bearer`).
    """
    if definition.transport == "stdio":
        env = {
            name: substitute(name, value)
            if is_literal(value) and (is_wanted(name) or holds_login(value))
            else value
            for name, value in definition.env.items()
        }
        args = replaced_arguments(definition.args, substitute)
        return definition.model_copy(update={"env": env, "args": args})
    headers = {
        name: replaced_in_header(name, value, substitute) if is_wanted(name) else value
        for name, value in definition.headers.items()
    }
    changes = {"headers": headers, "oauth": _oauth(definition, substitute)}
    return definition.model_copy(update=changes)


def _oauth(definition: HttpDefinition, substitute: Substitute) -> OAuthClient:
    secret = definition.oauth.client_secret
    if secret is None or not is_literal(secret):
        return definition.oauth
    named = substitute("client_secret", secret)
    return definition.oauth.model_copy(update={"client_secret": named})


def bare_url(url: str) -> tuple[str, tuple[str, ...]]:
    """A URL without user name, password and secret parameters, and the names of those removed."""
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    secrets = [name for name, value in query if is_secret_parameter(name) and value]
    removed = (*secrets, *(["user"] if parts.username is not None else []))
    if not removed:
        return url, ()
    kept = [(name, "" if name in secrets else value) for name, value in query]
    host = parts.netloc.rpartition("@")[2]
    bare = parts._replace(netloc=host, query=urllib.parse.urlencode(kept))
    return bare.geturl(), removed


def without_secret_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Unknown members, without those whose names look like secrets."""
    return {
        name: _without_secrets(value)
        for name, value in members.items()
        if not is_secret_setting(name)
    }


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return without_secret_members(value)
    return [_without_secrets(inner) for inner in value] if isinstance(value, list) else value


def secret_members(members: Any) -> tuple[str, ...]:
    if isinstance(members, list):
        found = [name for inner in members for name in secret_members(inner)]
    elif isinstance(members, dict):
        found = [name for name in members if is_secret_setting(name)]
        inside = [inner for name, inner in members.items() if not is_secret_setting(name)]
        found += secret_members(inside)
    else:
        found = []
    return tuple(dict.fromkeys(found))


class KeptSecrets(NamedTuple):
    """Compares our values, which may have references, with literals of a file.

    `known` are keyring secrets by name, None for one that no longer exists; a reference to one
    equals only its value, and any other reference equals every literal. With `imported_as`, only
    references to secrets that an import stored for a server with that name are compared: two
    accounts at one service are two servers.
    """

    known: Mapping[str, str | None]
    imported_as: str | None = None

    def is_same(self, mine: str, theirs: str) -> bool:
        """Return whether our value may equal the literal of the file."""
        references = names_in(mine)
        if not references or REFERENCE.search(theirs) is not None:
            return False
        if all(kind == "keyring" and name in self.known for kind, name in references):
            now = REFERENCE.sub(lambda found: self.known[found[2]] or "", mine)
            if now != theirs:
                return False
        if self.imported_as is None:
            return True
        begin = keyring_name(self.imported_as, "")
        return all(kind == "keyring" and name.startswith(begin) for kind, name in references)

    def are_same_arguments(self, mine: Sequence[str], theirs: Sequence[str]) -> bool:
        """Return whether arguments are equal, apart from secrets that we have references to."""
        return len(mine) == len(theirs) and all(
            one == other or (self.is_same(one, other) and fitting(one, other) is not None)
            for one, other in zip(mine, theirs, strict=True)
        )


def fitting(mine: str, theirs: str) -> re.Match[str] | None:
    """Match a literal against a value with references, whose values become the groups."""
    parts, end = list[str](), 0
    for found in REFERENCE.finditer(mine):
        parts.append(re.escape(mine[end : found.start()]))
        end = found.end()
    return re.fullmatch("(.+)".join([*parts, re.escape(mine[end:])]), theirs, re.DOTALL)


def candidate_secrets(
    held: ServerDefinition, found: ServerDefinition, imported_as: str | None
) -> frozenset[str]:
    """Names of keyring secrets that may correspond to literals of the file; see `KeptSecrets`."""
    kept = KeptSecrets({}, imported_as)
    return frozenset(
        name
        for mine, theirs in _pairs(held, found)
        if kept.is_same(mine, theirs)
        for kind, name in names_in(mine)
        if kind == "keyring"
    )


def looked_up(names: Iterable[str], keyring: Keyring) -> dict[str, str | None]:
    """Read secrets from the keyring; empty if it cannot be used. May block: call it in a thread."""
    try:
        return {name: keyring.get(name) for name in names}
    except UserError:
        return {}


def renewed(
    held: ServerDefinition,
    found: ServerDefinition,
    known: Mapping[str, str | None],
    alone: Collection[str],
) -> dict[str, str]:
    """New values in the file for keyring secrets, by name.

    Only for secrets that nothing else refers to (`alone`), and with a single new value.
    """
    values: dict[str, set[str]] = {}
    for mine, theirs in _pairs(held, found):
        references, fits = names_in(mine), fitting(mine, theirs)
        if len(references) == 1 and fits is not None and REFERENCE.search(theirs) is None:
            values.setdefault(references[0][1], set()).add(fits[1])
    return {
        name: next(iter(secrets))
        for name, secrets in values.items()
        if name in alone and name in known and len(secrets) == 1 and known[name] not in secrets
    }


def _pairs(held: ServerDefinition, found: ServerDefinition) -> Iterator[tuple[str, str]]:
    """Pairs of our values and the corresponding values of the file."""
    mine, theirs = values_of(held), values_of(found)
    yield from ((mine[name], theirs[name]) for name in mine.keys() & theirs.keys())
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        if len(held.args) == len(found.args):
            yield from zip(held.args, found.args, strict=True)
    elif isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        yield held.oauth.client_secret or "", found.oauth.client_secret or ""


def values_of(definition: ServerDefinition) -> dict[str, str]:
    if isinstance(definition, HttpDefinition):
        return dict(definition.headers)
    return dict(definition.env)
