"""Which values of a definition are secrets, and what stands in their place."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from app.protocol.secret_names import is_secret_setting
from app.sessions.references import REFERENCE, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from app.sessions.definitions import HttpDefinition, ServerDefinition
    from app.sessions.references import Keyring

    Substitute: TypeAlias = Callable[[str, str], str]
    """From the name of a secret and its value to what stands in its place."""

_HEADER_OPTIONS: Final = frozenset({"--header", "-H", "--headers"})
_VARIABLE_OPTIONS: Final = frozenset({"--env", "-e"})
_PAIR: Final = re.compile(r"([\w.-]+)(\s*[:=]\s*)(.+)", re.DOTALL)
_OPTION: Final = re.compile(r"(--?)([\w.-]+)(=)(.+)", re.DOTALL)
_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9]+")


def is_literal(value: str) -> bool:
    """Whether a value stands for itself: no reference is in it, and it is not empty."""
    return bool(value) and REFERENCE.search(value) is None


def secrets_of(definition: ServerDefinition) -> dict[str, str]:
    """Values that look like secrets by their names, and stand in the definition themselves."""
    found: dict[str, str] = {}

    def note(name: str, value: str) -> str:
        found[name] = value
        return value

    replaced(definition, note, is_secret_setting)
    return found


def in_keyring(definition: ServerDefinition, keyring: Keyring) -> ServerDefinition:
    """The definition with its secrets in the keyring, and references to them in their places.

    Takes long: to be called in a thread.

    Raises:
        ProblemError: there is no keyring, or it is locked.
    """

    def put(name: str, value: str) -> str:
        return stored(f"{definition.name}/{name}", value, keyring)

    return replaced(definition, put, is_secret_setting)


def stored(name: str, secret: str, keyring: Keyring) -> str:
    """Put a secret into the keyring; a reference to it, to stand in its place.

    Never over another secret, which some other server may refer to: the name gets a number then.
    """
    base = free = re.sub(r"[${}]", "_", name)
    number = 2
    while keyring.get(free) not in {None, secret}:
        free = f"{base} {number}"
        number += 1
    keyring.put(free, secret)
    return f"${{keyring:{free}}}"


def keyring_names(value: Any) -> frozenset[str]:
    """The secrets in the keyring that are referred to anywhere in a piece of a document."""
    if isinstance(value, str):
        return frozenset(name for kind, name in names_in(value) if kind == "keyring")
    if isinstance(value, dict):
        value = (*value, *value.values())
    elif not isinstance(value, list | tuple):
        return frozenset()
    return frozenset().union(*map(keyring_names, value))


def in_environment(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """The definition with its secrets referred to as variables, and those with what they were for.

    Nothing is kept of the secrets: whoever starts the program sets the variables.
    """
    return _without(definition, is_secret_setting)


def without_values(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """The same with every value of a variable and a header, whatever it is called."""
    return _without(definition, _is_any)


def without_keyring(definition: ServerDefinition) -> tuple[ServerDefinition, dict[str, str]]:
    """The definition with variables in place of secrets in the keyring, which others cannot read.

    Those variables, with what they are called in the keyring.
    """
    variables: dict[str, str] = {}

    def refer(place: str, value: str) -> str:
        for kind, name in names_in(value):
            if kind == "keyring":
                last = name.rpartition("/")[2]
                is_whole = bool(place) and value == f"${{keyring:{name}}}"
                variable = place if is_whole else _variable(definition.name, last)
                variables[variable] = name
                value = value.replace(f"${{keyring:{name}}}", f"${{env:{variable}}}")
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


def _is_any(_name: str) -> bool:
    return True


def _without(
    definition: ServerDefinition, is_wanted: Callable[[str], bool]
) -> tuple[ServerDefinition, dict[str, str]]:
    variables: dict[str, str] = {}

    def refer(name: str, _value: str) -> str:
        is_variable = definition.transport == "stdio" and name in definition.env
        variable = name if is_variable else _variable(definition.name, name)
        variables[variable] = name
        return f"${{env:{variable}}}"

    return replaced(definition, refer, is_wanted), variables


def _variable(server: str, name: str) -> str:
    """What a variable for a server's secret is called: `GITHUB_AUTHORIZATION`."""
    return variable_name(f"{server}_{name}")


def variable_name(words: str) -> str:
    """A variable of the environment that is called like something else: `api-key` is `API_KEY`."""
    return _NOT_OF_NAMES.sub("_", words).strip("_").upper() or "SECRET"


def replaced(
    definition: ServerDefinition, substitute: Substitute, is_wanted: Callable[[str], bool]
) -> ServerDefinition:
    """The definition with substitutes for the values whose names are wanted.

    Of variables and headers those alone; of arguments, of a URL and of OAuth what is a secret by
    its name anyway. A header keeps its scheme (`Bearer`). References stay.
    """
    if definition.transport == "stdio":
        env = {
            name: substitute(name, value) if is_wanted(name) and is_literal(value) else value
            for name, value in definition.env.items()
        }
        args = tuple(_arguments(definition.args, substitute))
        return definition.model_copy(update={"env": env, "args": args})
    headers = {
        name: _of_header(name, value, substitute) if is_wanted(name) else value
        for name, value in definition.headers.items()
    }
    changes = {"headers": headers, "oauth": _oauth(definition, substitute)}
    return definition.model_copy(update=changes)


def _oauth(definition: HttpDefinition, substitute: Substitute) -> Any:
    secret = definition.oauth.client_secret
    if secret is None or not is_literal(secret):
        return definition.oauth
    named = substitute("client_secret", secret)
    return definition.oauth.model_copy(update={"client_secret": named})


def _of_header(name: str, value: str, substitute: Substitute) -> str:
    if not is_literal(value):
        return value
    scheme = _SCHEME.match(value)
    kept = scheme[0] if scheme is not None else ""
    return kept + substitute(name, value[len(kept) :])


def _arguments(args: tuple[str, ...], substitute: Substitute) -> list[str]:
    """A program's arguments, with substitutes for what their options call a secret."""
    words: list[str] = []
    for place, word in enumerate(args):
        previous = args[place - 1] if place else ""
        words.append(_argument(previous, word, substitute) if is_literal(word) else word)
    return words


def _argument(previous: str, word: str, substitute: Substitute) -> str:
    option = _OPTION.fullmatch(word)
    if option is not None:
        is_secret = is_secret_setting(option[2])
        return f"{option[1]}{option[2]}={substitute(option[2], option[4])}" if is_secret else word
    pair = _PAIR.fullmatch(word)
    if previous in _HEADER_OPTIONS | _VARIABLE_OPTIONS and pair is not None:
        if not is_secret_setting(pair[1]):
            return word
        return f"{pair[1]}{pair[2]}{_of_header(pair[1], pair[3], substitute)}"
    name = previous.lstrip("-")
    is_value = previous.startswith("-") and "=" not in previous and not word.startswith("-")
    return substitute(name, word) if is_value and is_secret_setting(name) else word


def bare_url(url: str) -> tuple[str, tuple[str, ...]]:
    """A URL without a user's name and password and without its parameters' secrets; those."""
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    gone = [name for name, value in query if is_secret_setting(name) and value]
    if parts.username is not None:
        gone.append("user")
    if not gone:
        return url, ()
    kept = [(name, "" if name in gone else value) for name, value in query]
    host = parts.netloc.rpartition("@")[2]
    bare = parts._replace(netloc=host, query=urllib.parse.urlencode(kept))
    return bare.geturl(), tuple(gone)


def without_secret_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Members that mean nothing to us, without those that are secrets by their names."""
    return {
        name: without_secret_members(value) if isinstance(value, dict) else value
        for name, value in members.items()
        if not is_secret_setting(name)
    }
