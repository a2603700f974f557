"""Secrets among a program's arguments: which words, or parts of words, and others for them."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.secret_names import HIDDEN_VALUE, is_secret_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Substitute: TypeAlias = Callable[[str, str], str]
    """From the name of a secret and its value to what stands in its place."""

_PAIR_OPTIONS: Final = frozenset({"--header", "-H", "--headers", "--env", "-e"})
"""Options whose value is a header or a variable with its value."""
_PAIR: Final = re.compile(r"([\w.-]+)(\s*[:=]\s*)(.+)", re.DOTALL)
_OPTION: Final = re.compile(r"(--?)([\w.-]+)(=)(.+)", re.DOTALL)
_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$\{(?:env|keyring):[^${}]+\}")
_USER: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#\\\s]*)@")
_PARAMETER: Final = re.compile(r"([?&;#])([^=&;#?\s]{1,200})=([^&;#\s]+)")


def replaced_arguments(args: Sequence[str], substitute: Substitute) -> tuple[str, ...]:
    """The arguments with substitutes for what their options, or a URL in them, call a secret.

    A header keeps its scheme (`Bearer`), a URL its host. Words with a reference stay as they are.
    """
    before = ("", *args)
    return tuple(
        _argument(previous, word, substitute) if is_literal(word) else word
        for previous, word in zip(before, args, strict=False)
    )


def shown_arguments(args: Sequence[str]) -> tuple[str, ...]:
    """The arguments as they may be shown."""
    return replaced_arguments(args, _hidden)


def is_literal(value: str) -> bool:
    """Whether a value stands for itself: no reference is in it, and it is not empty."""
    return bool(value) and _REFERENCE.search(value) is None


def holds_login(value: str) -> bool:
    """Whether a text has a URL with a password, or with a parameter that is a secret by its name.

    As the variables in which programs are told of their database do, whatever those are called.
    """
    return "://" in value and replaced_in_urls(value, _hidden) != value


def replaced_in_urls(words: str, substitute: Substitute) -> str:
    """A text with substitutes for the passwords and secret parameters of the URLs in it."""
    if "://" not in words:
        return words

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

    return _PARAMETER.sub(of_parameter, _USER.sub(of_user, words))


def replaced_in_header(name: str, value: str, substitute: Substitute) -> str:
    """A header's value with a substitute for it; its scheme stays, and so does a reference."""
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
    is_value = previous.startswith("-") and "=" not in previous and not word.startswith("-")
    return _value(previous if is_value else "", word, substitute)


def _value(option: str, value: str, substitute: Substitute) -> str:
    """The value of an option, "" for a word that has none."""
    pair = _PAIR.fullmatch(value) if option in _PAIR_OPTIONS else None
    if pair is not None and is_secret_setting(pair[1]):
        return f"{pair[1]}{pair[2]}{replaced_in_header(pair[1], pair[3], substitute)}"
    name = option.lstrip("-")
    if pair is None and name and is_secret_setting(name):
        return substitute(name, value)
    return replaced_in_urls(value, substitute)


def _hidden(_name: str, _value: str) -> str:
    return HIDDEN_VALUE
