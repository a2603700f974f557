"""Names, arguments and URL parameters that usually hold secrets; masks those and resume tokens."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.messages import META, NEXT_RESUME_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from mcp_progress_monitor.protocol.facts import JsonObject

_NOT_LETTERS: Final = re.compile(r"[^a-z]+")
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase|code)|^pass$|pwd|secret|credential|authorization|cookie|bearer|jwt"
    r"|(?:api|private|access|signing|encryption|auth|account|master|ssh)keys?(?:value)?$"
    r"|^auth$|^pin$|^otp$|(?<!progress)tokens?(?:value|string)?$|sessionid$"
    r"|^sig$|(?:amz|goog|url|request)signature$"
)
_SECRET_SETTING: Final = re.compile(
    r"(?:^|service|[_-])key$|(?:^|[_-])pat$|[_-]sas$|dsn$|connection[_-]?string$", re.IGNORECASE
)
_SECRET_HEADER: Final = re.compile(
    r"^auth|-auth\b|api-?key|token|signature|session|^cf-access-|csrf|oidc-data|bypass|client-id$"
    r"|^x-sid$|client-principal",
    re.IGNORECASE,
)
_SECRET_PARAMETERS: Final = frozenset({"code", "code_verifier", "assertion"})
"""URL parameters that grant access: a key of Azure Functions, and those of OAuth."""
_NO_SECRETS: Final = frozenset({"mcp-session-id"})
"""Headers that are shown: HTTP exchanges could not be understood without them."""
_USER: Final = re.compile(r"^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)[^/?#\\]*@")
_PARAMETER: Final = re.compile(r"(?P<kept>[?&;#](?P<name>[^=&;#?]{1,200})=)(?P<value>[^&;#\s]+)")
_REFERENCES: Final = re.compile(r"(?:\$\{(?:env|keyring|ask):[^${}]+\})+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHORTEST_KEY: Final = 16  # characters
HIDDEN_VALUE: Final = "***"  # what replaces a secret in a URL, or within a text


def is_secret_name(name: str) -> bool:
    """True if a member of that name holds a secret: `apiKey`, `CLIENT_SECRET`, `X-Auth-Token`.

    A progress token is not one: it only identifies a request.
    """
    return _SECRET_NAME.search(letters(name)) is not None


def is_secret_setting(name: str) -> bool:
    """Return whether a variable, a header or an option of that name holds a secret.

    More names count there than for members of messages: `KEY`, `GITHUB_PAT`, `DSN`.
    """
    return is_secret_name(name) or _SECRET_SETTING.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    return is_secret_setting(name) or name.lower() in _SECRET_PARAMETERS


def is_secret_header(name: str) -> bool:
    """Return whether an HTTP header of that name is a credential."""
    if name.lower() in _NO_SECRETS:
        return False
    return is_secret_setting(name) or _SECRET_HEADER.search(name) is not None


def shown_url(url: str) -> str:
    """A URL for display: without user name and password, and its parameters' secrets.

    Invalid URLs are masked likewise; references to secrets stay as they are.
    """
    bare = _USER.sub(r"\1", url, count=1)
    end = min((place for mark in "?#" if (place := bare.find(mark)) >= 0), default=len(bare))
    path, rest = map(_with_shown_parameters, (bare[:end], bare[end:]))
    parts = path.split("/")
    first = 3 if "://" in bare[:end] else 1
    return "/".join([*parts[:first], *map(_shown_segment, parts[first:])]) + rest


def _with_shown_parameters(part: str) -> str:
    """The path of a URL, which may have parameters as well (`/mcp;token=x`), or what follows."""
    return _PARAMETER.sub(_shown_parameter, part) if "=" in part else part


def _shown_segment(segment: str) -> str:
    """A segment of a path; hidden if it looks like a key: a UUID, or mixed letters and digits."""
    is_key = _UUID.fullmatch(segment) or any(map(_is_key, re.split(r"[-_.~%:;=@]", segment)))
    return HIDDEN_VALUE if is_key else segment


def _is_key(word: str) -> bool:
    digits = sum(map(str.isdigit, word))
    return len(word) >= _SHORTEST_KEY and word.isalnum() and 1 < digits < len(word) - 1


def _shown_parameter(found: re.Match[str]) -> str:
    name = urllib.parse.unquote_plus(found["name"])
    if not is_secret_parameter(name) or _REFERENCES.fullmatch(found["value"]):
        return found[0]
    return f"{found['kept']}{HIDDEN_VALUE}"


def letters(name: str) -> str:
    """The letters of a name in lower case: `API_KEY`, `apiKey` and `api-key` are one."""
    return _NOT_LETTERS.sub("", name.lower())


if TYPE_CHECKING:
    Substitute: TypeAlias = Callable[[str, str], str]
    """From the name of a secret and its value to its replacement."""

_PAIR_OPTIONS: Final = frozenset({"--header", "-H", "--headers", "--env", "-e"})
"""Options whose value is a header or a variable with its value."""
_PAIR: Final = re.compile(r"([\w.-]+)(\s*[:=]\s*)(.+)", re.DOTALL)
_OPTION: Final = re.compile(r"(--?)([\w.-]+)(=)(.+)", re.DOTALL)
_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$\{(?:env|keyring|ask):[^${}]+\}")
_URL_USER: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#\\\s]*)@")
_VARIABLE: Final = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)
_IS_SCRIPT: Final = re.compile(r"-\w*c|-command|/[ck]", re.IGNORECASE)
"""Options of shells that a script follows: `-lc`, `/c`; all other words are for themselves."""
_WORD: Final = r"((?:\"[^\"]*\"|'[^']*'|[^\s;&|\"'])+)"
_ASSIGNMENT: Final = re.compile(
    rf"(?<![\w$.?-])(?:(-{{0,2}}[A-Za-z_][\w-]{{0,199}}=)|(--[A-Za-z][\w-]{{0,199}}\s+)(?!-)){_WORD}"
)
"""`env KEY=x server`, and within the script of a shell: `KEY=x server --token=y --pin z`."""
_URL_PARAMETER: Final = re.compile(r"([?&;#])([^=&;#?\s]{1,200})=([^&;#\s]+)")


def replaced_arguments(args: Sequence[str], substitute: Substitute) -> tuple[str, ...]:
    """The arguments with replacements for what their options, or a URL in them, call a secret.

    So do assignments of variables, as for `env` or in the script of a shell. A header keeps its
    scheme (`Bearer`), a URL its host. Arguments with a reference stay as they are.
    """
    before = ("", *args)
    return tuple(
        _argument(previous, word, substitute) if is_literal(word) else word
        for previous, word in zip(before, args, strict=False)
    )


def shown_arguments(args: Sequence[str]) -> tuple[str, ...]:
    return replaced_arguments(args, _hidden)


def is_literal(value: str) -> bool:
    """Return whether a value is literal: it has no reference, and is not empty."""
    return bool(value) and _REFERENCE.search(value) is None


def holds_login(value: str) -> bool:
    """True if a text has a URL with a password, or with a parameter that is a secret by its name.

    Variables for databases often do, whatever their name.
    """
    return "://" in value and replaced_in_urls(value, _hidden) != value


def replaced_in_urls(text: str, substitute: Substitute) -> str:
    """A text with replacements for the passwords and secret parameters of the URLs in it."""
    if "://" not in text:
        return text

    def of_user(found: re.Match[str]) -> str:
        name, colon, password = found[2].partition(":")
        if colon and password:
            return f"{found[1]}{name}:{substitute('password', password)}@"
        is_token = name and found[1].lower() in {"http://", "https://"}
        return f"{found[1]}{substitute('user', name)}{colon}@" if is_token else found[0]

    def of_parameter(found: re.Match[str]) -> str:
        name = urllib.parse.unquote_plus(found[2])
        value = substitute(name, found[3]) if is_secret_setting(name) else found[3]
        return f"{found[1]}{found[2]}={value}"

    return _URL_PARAMETER.sub(of_parameter, _URL_USER.sub(of_user, text))


def replaced_in_header(name: str, value: str, substitute: Substitute) -> str:
    """A header's value with a replacement for it; its scheme stays, and so does a reference."""
    if not is_literal(value):
        return value
    scheme = _SCHEME.match(value)
    kept = scheme[0] if scheme is not None else ""
    return kept + substitute(name, value[len(kept) :])


def _argument(previous: str, word: str, substitute: Substitute) -> str:
    option = _OPTION.fullmatch(word)
    if option is not None:
        begin = f"{option[1]}{option[2]}="
        return begin + _value(f"{option[1]}{option[2]}", option[4], substitute)
    variable = None if _IS_SCRIPT.fullmatch(previous) else _VARIABLE.fullmatch(word)
    if variable is not None and is_secret_setting(variable[1]):
        return _assigned(f"{variable[1]}=", variable[2], substitute)
    is_value = previous.startswith("-") and "=" not in previous and not word.startswith("-")
    return _value(previous if is_value else "", word, substitute)


def _value(option: str, value: str, substitute: Substitute) -> str:
    """The value of an option, "" for an argument that has none."""
    pair = _PAIR.fullmatch(value) if option in _PAIR_OPTIONS else None
    if pair is not None and is_secret_setting(pair[1]):
        return f"{pair[1]}{pair[2]}{replaced_in_header(pair[1], pair[3], substitute)}"

    name = option.lstrip("-")
    if pair is None and name and is_secret_setting(name):
        return substitute(name, value)

    def of_script(found: re.Match[str]) -> str:
        return _assigned(found[1] or found[2], found[3], substitute)

    return _ASSIGNMENT.sub(of_script, replaced_in_urls(value, substitute))


def _assigned(begin: str, value: str, substitute: Substitute) -> str:
    """Return the value that follows `begin`, a name with `=` or a space."""
    name = begin.strip("-= \t\r\n")
    is_bare = value.lstrip("\"'").startswith(("$", "%", HIDDEN_VALUE))
    if is_bare or not (is_secret_setting(name) and is_literal(value)):
        return begin + value  # no secret; or a variable's name, or replaced already
    return begin + substitute(name, value)


def _hidden(_name: str, _value: str) -> str:
    return HIDDEN_VALUE


HIDDEN: Final = "(hidden)"  # what replaces a token


def without_tokens(result: JsonObject) -> JsonObject:
    """A result, or a JSON-RPC error, with `HIDDEN` wherever a server may have put its token.

    That is in `_meta`, beside it, and at the same places of an error's `data`. What is changed is
    copied: `result` itself stays unchanged.
    """
    shown = _hidden_here(result)
    if isinstance(data := shown.get("data"), dict):
        shown["data"] = _hidden_here(data)
    return shown


def shown_data(data: Any) -> Any:
    return without_tokens(data) if isinstance(data, dict) else data


def _hidden_here(values: dict[str, Any]) -> dict[str, Any]:
    """A copy without the token beside `_meta` and the one in it."""
    shown = _hidden_member(values)
    if isinstance(meta := shown.get(META), dict):
        shown[META] = _hidden_member(meta)
    return shown


def _hidden_member(values: dict[str, Any]) -> dict[str, Any]:
    return {name: HIDDEN if name == NEXT_RESUME_TOKEN else value for name, value in values.items()}
