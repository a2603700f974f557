"""Secrets taken out of JSON text without decoding it whole: all else keeps its exact bytes.

Works on text of any size and nesting in one pass, and on text that is cut off or not quite JSON:
what cannot be told apart is taken for what it looks like.
"""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.exports.secret_words import (
    REMOVED,
    address_without_secrets,
    is_address,
    is_command,
    is_environment,
    is_harmless_header,
    is_headers,
    is_key,
    looks_random,
    may_be_count,
)
from mcp_progress_monitor.protocol.secret_names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN: Final = re.compile(
    rb'("[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?)([ \t\r\n]*+:)?|[{}\[\]]|[^"{}\[\],:\s]++', re.DOTALL
)
_KEPT_WORDS: Final = frozenset({b"true", b"false", b"null"})
_GONE: Final = json.dumps(REMOVED).encode()
_HEADER_OPTION: Final = re.compile(r"(?:--header|-H)$")
_VARIABLE_OPTION: Final = re.compile(r"(?:--env|-e)$")
_PAIR: Final = re.compile(r"([^=:\s]{1,200}[=:]\s*).+", re.DOTALL)
_VARIABLE: Final = re.compile(r"([A-Z_][A-Z0-9_]*=).+", re.DOTALL)
_OPTION: Final = re.compile(r"(-{0,2}([\w.-]{1,200})=).+", re.DOTALL)
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_HEADER_NAME: Final = re.compile(
    r"(?:Proxy-)?Authorization|Cookie|(?:X|Mcp)(?:-[A-Z][A-Za-z]{0,30}){1,6}"
)
"""What is surely a name, where names alone are listed."""
_HIDDEN: Final = re.compile(r"(?:[A-Za-z]{1,20} )?\(hidden, [\d,]{1,20} characters\)")
"""What stands in a recording instead of a credential."""
_HALF: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates, except those by which Python's `surrogateescape` encodes a byte."""
_PAIR_NAMES: Final = frozenset({"name", "key", "header", "type", "description"})


class _Rule(enum.Enum):
    """What is done with the values in a container."""

    PLAIN = enum.auto()
    """By the names of its members, and by the looks of its texts."""
    ENVIRONMENT = enum.auto()
    HEADERS = enum.auto()
    """Names stay, values go; of headers, those stay that only tell how a message is sent."""
    HEADER = enum.auto()
    """A list of a header's name and its value."""
    PAIRS = enum.auto()
    HEADER_PAIRS = enum.auto()
    """An object in a list of variables or headers: what it calls its value goes."""
    COMMAND = enum.auto()
    """A list of a program's arguments: each may tell what the next one is."""
    SCHEMAS = enum.auto()
    """The members of a JSON Schema: their names say what is asked for, and have no value here."""
    SECRET_SCHEMA = enum.auto()
    """A schema of something secret: what it says of its kind stays, examples and defaults go."""
    GONE = enum.auto()
    """Goes as a whole."""


_SCHEMA_WORDS: Final = frozenset(
    {
        *("type", "title", "description", "format", "pattern", "nullable", "deprecated", "$ref"),
        *("minLength", "maxLength", "minimum", "maximum", "writeOnly", "readOnly"),
    }
)
_SECRET: Final = frozenset({_Rule.GONE, _Rule.SECRET_SCHEMA})
_OF_VALUES: Final = frozenset({_Rule.ENVIRONMENT, _Rule.HEADERS})
_OF_TEXTS: Final = _OF_VALUES | {_Rule.HEADER}
_PAIRED: Final = frozenset({_Rule.HEADER, _Rule.HEADER_PAIRS})
"""Whose first text is a name."""


class _Level:
    """A container under way: its rule, the member or the element before."""

    __slots__ = ("is_object", "key", "previous", "rule")

    def __init__(self, rule: _Rule, *, is_object: bool) -> None:
        self.rule = rule
        self.is_object = is_object
        self.key = ""
        self.previous = ""


class SecretRemover:
    """One pass over one JSON text; `text` takes the secrets out of a string's words."""

    def __init__(self, raw: bytes, text: Callable[[str], str]) -> None:
        self._raw = raw
        self._text = text
        self._out: list[bytes] = []
        self._copied = 0
        self._levels = [_Level(_Rule.PLAIN, is_object=False)]
        self._gone_from = 0
        self._gone_depth = 0

    def run(self) -> bytes:
        """The text without its secrets; the same object when there are none."""
        for found in _TOKEN.finditer(self._raw):
            first = self._raw[found.start()]
            if self._gone_depth:
                self._pass_over(first, found.end())
            elif first in b"{[":
                self._open(first == 0x7B, found.start())
            elif first in b"}]":
                self._close()
            else:
                self._take(found)
        if self._gone_depth:
            self._put(self._gone_from, len(self._raw), _GONE)
        if not self._out:
            return self._raw
        return b"".join((*self._out, self._raw[self._copied :]))

    def _put(self, start: int, end: int, instead: bytes) -> None:
        self._out += (self._raw[self._copied : start], instead)
        self._copied = end

    def _pass_over(self, first: int, end: int) -> None:
        """Look for the end of a container that goes as a whole."""
        self._gone_depth += (first in b"{[") - (first in b"}]")
        if not self._gone_depth:
            self._put(self._gone_from, end, _GONE)

    def _open(self, is_object: bool, start: int) -> None:
        rule = self._rule_of_value()
        if rule in _OF_VALUES and not self._levels[-1].is_object:
            rule = _rule_in_list(rule, is_object=is_object)
        if rule is _Rule.SECRET_SCHEMA and not is_object:
            rule = _Rule.GONE
        if rule is _Rule.GONE:
            self._gone_from, self._gone_depth = start, 1
        else:
            self._levels.append(_Level(rule, is_object=is_object))

    def _close(self) -> None:
        if len(self._levels) > 1:
            self._levels.pop()

    def _take(self, found: re.Match[bytes]) -> None:
        level = self._levels[-1]
        token = found[1]
        if token is not None and found[2] is not None and level.is_object:
            level.key = _decoded(token)
        elif token is None:
            self._take_literal(level, found)
        else:
            self._take_string(level, token, found.start(1))

    def _take_literal(self, level: _Level, found: re.Match[bytes]) -> None:
        is_kept = found[0] in _KEPT_WORDS or may_be_count(level.key)
        is_value = level.rule in _OF_TEXTS or self._rule_of_value() in _SECRET
        if is_value and not is_kept:
            self._put(found.start(), found.end(), _GONE)

    def _take_string(self, level: _Level, token: bytes, start: int) -> None:
        words = _decoded(token)
        shown = self._shown(level, words)
        if level.rule is _Rule.COMMAND or (level.rule in _PAIRED and not level.previous):
            level.previous = words
        if shown != words:
            self._put(start, start + len(token), _encoded(shown, token))

    def _shown(self, level: _Level, words: str) -> str:
        """What is left of a string where it stands."""
        rule = self._rule_of_value()
        if rule in _SECRET:
            return REMOVED
        if level.rule is _Rule.COMMAND and not level.is_object:
            return self._text(_argument(level.previous, words))
        if rule is _Rule.ENVIRONMENT:
            return self._text(_without_value(words))
        if rule is _Rule.HEADERS:
            return self._header_line(words)
        if rule is _Rule.HEADER:
            return self._in_header(level, words)
        return self._plain(level, words)

    def _plain(self, level: _Level, words: str) -> str:
        if level.is_object and is_key(level.key) and looks_random(words):
            return REMOVED
        name = level.previous if level.rule is _Rule.HEADER_PAIRS else level.key
        if level.is_object and is_address(name):
            words = address_without_secrets(words)
        return self._text(words)

    def _in_header(self, level: _Level, words: str) -> str:
        """A name, or the value after it."""
        if not level.previous:
            return words if _NAME.fullmatch(words) else REMOVED
        return self._header_value(level.previous, words)

    def _header_value(self, name: str, words: str) -> str:
        if is_harmless_header(name):
            return self._text(address_without_secrets(words))
        return words if _HIDDEN.fullmatch(words) else REMOVED

    def _header_line(self, words: str) -> str:
        """A line `Name: value` without its value; what is no such line may be a value."""
        name, sign, value = words.partition(":")
        if sign and is_harmless_header(name.strip()):
            return f"{name}:{self._text(address_without_secrets(value))}"
        return words if _HEADER_NAME.fullmatch(words) else _header(words)

    def _rule_of_value(self) -> _Rule:
        """The rule for what comes next: of its own name, else of the container around it."""
        level = self._levels[-1]
        if not level.is_object:
            return level.rule
        if level.rule is _Rule.HEADER_PAIRS and is_harmless_header(level.previous):
            return _Rule.PLAIN
        return _MEMBER_RULES.get(level.rule, _rule_of_name)(level.key)


def _rule_of_pair(name: str) -> _Rule:
    return _Rule.PLAIN if name.lower() in _PAIR_NAMES else _Rule.GONE


def _rule_of_variable(_name: str) -> _Rule:
    return _Rule.GONE


def _rule_of_header(name: str) -> _Rule:
    return _Rule.PLAIN if is_harmless_header(name) else _Rule.GONE


def _rule_in_list(rule: _Rule, *, is_object: bool) -> _Rule:
    """The rule of a container in a list of variables or headers."""
    if rule is _Rule.HEADERS:
        return _Rule.HEADER_PAIRS if is_object else _Rule.HEADER
    return _Rule.PAIRS if is_object else rule


def _rule_of_schema(name: str) -> _Rule:
    rule = _rule_of_name(name)
    if rule is _Rule.SCHEMAS:
        return _Rule.PLAIN  # the schema of a member that is called "properties"
    return rule if rule in {_Rule.PLAIN, _Rule.COMMAND} else _Rule.SECRET_SCHEMA


def _rule_in_schema(name: str) -> _Rule:
    return _Rule.PLAIN if name in _SCHEMA_WORDS else _Rule.GONE


_MEMBER_RULES: Final = {
    _Rule.ENVIRONMENT: _rule_of_variable,
    _Rule.HEADERS: _rule_of_header,
    _Rule.PAIRS: _rule_of_pair,
    _Rule.HEADER_PAIRS: _rule_of_pair,
    _Rule.SCHEMAS: _rule_of_schema,
    _Rule.SECRET_SCHEMA: _rule_in_schema,
}


def _rule_of_name(name: str) -> _Rule:
    if name == "properties":
        return _Rule.SCHEMAS
    if is_secret_name(name):
        return _Rule.GONE
    if is_environment(name):
        return _Rule.ENVIRONMENT
    if is_headers(name):
        return _Rule.HEADERS
    return _Rule.COMMAND if is_command(name) else _Rule.PLAIN


def _argument(previous: str, words: str) -> str:
    """An argument of a program, after the one before it."""
    if _HEADER_OPTION.match(previous):
        return _header(words)
    if _VARIABLE_OPTION.match(previous):
        return _without_value(words)
    if previous.startswith("-") and "=" not in previous and is_secret_name(previous):
        return REMOVED
    option = _OPTION.fullmatch(words)
    if option is not None and is_secret_name(option[2]):
        return f"{option[1]}{REMOVED}"
    return _VARIABLE.sub(rf"\1{REMOVED}", words) if _VARIABLE.fullmatch(words) else words


def _without_value(words: str) -> str:
    """`NAME=VALUE` without its value; a name alone stays."""
    name, sign, value = words.partition("=")
    return f"{name}={REMOVED}" if sign and value else words


def _header(words: str) -> str:
    """A line `Name: value` without its value; what is no such line may be a value."""
    if _PAIR.match(words):
        return _PAIR.sub(rf"\1{REMOVED}", words)
    return REMOVED


def _decoded(token: bytes) -> str:
    """The words of a JSON string, leniently; bytes that are no UTF-8 survive."""
    words = token.decode("utf-8", "surrogateescape")
    if "\\" not in words:
        return words.strip('"')
    try:
        return str(json.loads(words, strict=False))
    except ValueError:
        return words.strip('"')


def _encoded(words: str, token: bytes) -> bytes:
    """The words as a JSON string, in place of `token`, which they were decoded from.

    Half a surrogate pair is legal in JSON as an escape, and nowhere else. Where `token` is not
    UTF-8, its odd bytes look like such halves: those become the bytes that they were.
    """
    text = json.dumps(words, ensure_ascii=False)
    if not _is_utf8(token):
        halves = _HALF.sub(_as_escape, text)
        return halves.encode("utf-8", "surrogateescape")
    return text.encode("utf-8", "backslashreplace")  # writes a half exactly as JSON does


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_escape(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"
