"""Redaction: removes secrets from exports; everything else keeps its exact bytes."""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_progress_monitor.exports.secret_patterns import (
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
    may_have_secrets,
    without_secrets,
)
from mcp_progress_monitor.formatting import size
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.secrets import is_secret_name
from mcp_progress_monitor.wording.doctor import report_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.snapshots.doctor import DoctorReport

__all__ = ["NOTE", "REMOVED", "Redaction"]

_TOKEN: Final = re.compile(
    rb'("[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?)([ \t\r\n]*+:)?|[{}\[\]]|[^"{}\[\],:\s]++', re.DOTALL
)
_KEPT_WORDS: Final = frozenset({b"true", b"false", b"null"})
_REMOVED_JSON: Final = json.dumps(REMOVED).encode()
_HEADER_OPTION: Final = re.compile(r"(?:--header|-H)$")
_VARIABLE_OPTION: Final = re.compile(r"(?:--env|-e)$")
_PAIR: Final = re.compile(r"([^=:\s]{1,200}[=:]\s*).+", re.DOTALL)
_VARIABLE: Final = re.compile(r"([A-Z_][A-Z0-9_]*=).+", re.DOTALL)
_OPTION: Final = re.compile(r"(-{0,2}([\w.-]{1,200})=).+", re.DOTALL)
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_HEADER_NAME: Final = re.compile(
    r"(?:Proxy-)?Authorization|Cookie|(?:X|Mcp)(?:-[A-Z][A-Za-z]{0,30}){1,6}"
)
"""Certainly a name rather than a value, in a list of names."""
_HIDDEN: Final = re.compile(r"(?:[A-Za-z]{1,20} )?\(hidden, [\d,]{1,20} characters\)")
"""The placeholder for a credential in a recording."""
_HALF: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates, except those with which Python's `surrogateescape` encodes a byte."""
_PAIR_NAMES: Final = frozenset({"name", "key", "header", "type", "description"})


class _SecretRule(enum.Enum):
    """Redaction of the values in a container."""

    PLAIN = enum.auto()  # by the names of members and the content of texts
    ENVIRONMENT = enum.auto()
    HEADERS = enum.auto()
    """Names are kept and values removed, except those of harmless headers."""
    HEADER = enum.auto()  # a list of a header's name and value
    PAIRS = enum.auto()
    HEADER_PAIRS = enum.auto()
    """An object in a list of variables or headers: the value beside the name is removed."""
    COMMAND = enum.auto()  # a list of arguments, each of which may name the next one
    SCHEMAS = enum.auto()
    """The properties of a JSON Schema, which are names without values."""
    SECRET_SCHEMA = enum.auto()
    """A schema of a secret: its type is kept, examples and defaults are removed."""
    REMOVED = enum.auto()  # removed as a whole


_SCHEMA_WORDS: Final = frozenset(
    {
        *("type", "title", "description", "format", "pattern", "nullable", "deprecated", "$ref"),
        *("minLength", "maxLength", "minimum", "maximum", "writeOnly", "readOnly"),
    }
)
_SECRET: Final = frozenset({_SecretRule.REMOVED, _SecretRule.SECRET_SCHEMA})
_VALUE_RULES: Final = frozenset({_SecretRule.ENVIRONMENT, _SecretRule.HEADERS})
_TEXT_RULES: Final = _VALUE_RULES | {_SecretRule.HEADER}
_PAIRED: Final = frozenset({_SecretRule.HEADER, _SecretRule.HEADER_PAIRS})
"""Rules of containers whose first text is a name."""


class _Level:
    """An open container: its rule, and the key or the previous element."""

    __slots__ = ("is_object", "key", "previous", "rule")

    def __init__(self, rule: _SecretRule, *, is_object: bool) -> None:
        self.rule = rule
        self.is_object = is_object
        self.key = ""
        self.previous = ""


class SecretRemover:
    """One pass over one JSON text; `text` redacts a string's content."""

    def __init__(self, raw: bytes, text: Callable[[str], str]) -> None:
        self._raw = raw
        self._text = text
        self._out: list[bytes] = []
        self._copied = 0
        self._levels = [_Level(_SecretRule.PLAIN, is_object=False)]
        self._removed_from = 0
        self._removed_depth = 0

    def run(self) -> bytes:
        """The redacted text; the same object if nothing was removed."""
        for found in _TOKEN.finditer(self._raw):
            first = self._raw[found.start()]
            if self._removed_depth:
                self._pass_over(first, found.end())
            elif first in b"{[":
                self._open(first == 0x7B, found.start())
            elif first in b"}]":
                self._close()
            else:
                self._take(found)
        if self._removed_depth:
            self._put(self._removed_from, len(self._raw), _REMOVED_JSON)
        if not self._out:
            return self._raw
        return b"".join((*self._out, self._raw[self._copied :]))

    def _put(self, start: int, end: int, instead: bytes) -> None:
        self._out += (self._raw[self._copied : start], instead)
        self._copied = end

    def _pass_over(self, first: int, end: int) -> None:
        """Find the end of a container that is removed as a whole."""
        self._removed_depth += (first in b"{[") - (first in b"}]")
        if not self._removed_depth:
            self._put(self._removed_from, end, _REMOVED_JSON)

    def _open(self, is_object: bool, start: int) -> None:
        rule = self._rule_of_value()
        if rule in _VALUE_RULES and not self._levels[-1].is_object:
            rule = _rule_in_list(rule, is_object=is_object)
        if rule is _SecretRule.SECRET_SCHEMA and not is_object:
            rule = _SecretRule.REMOVED
        if rule is _SecretRule.REMOVED:
            self._removed_from, self._removed_depth = start, 1
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
        is_value = level.rule in _TEXT_RULES or self._rule_of_value() in _SECRET
        if is_value and not is_kept:
            self._put(found.start(), found.end(), _REMOVED_JSON)

    def _take_string(self, level: _Level, token: bytes, start: int) -> None:
        text = _decoded(token)
        shown = self._shown(level, text)
        if level.rule is _SecretRule.COMMAND or (level.rule in _PAIRED and not level.previous):
            level.previous = text
        if shown != text:
            self._put(start, start + len(token), _encoded(shown, token))

    def _shown(self, level: _Level, text: str) -> str:
        rule = self._rule_of_value()
        if rule in _SECRET:
            return REMOVED
        if level.rule is _SecretRule.COMMAND and not level.is_object:
            return self._text(_argument(level.previous, text))
        if rule is _SecretRule.ENVIRONMENT:
            return self._text(_without_value(text))
        if rule is _SecretRule.HEADERS:
            return self._header_line(text)
        if rule is _SecretRule.HEADER:
            return self._in_header(level, text)
        return self._plain(level, text)

    def _plain(self, level: _Level, text: str) -> str:
        if level.is_object and is_key(level.key) and looks_random(text):
            return REMOVED
        name = level.previous if level.rule is _SecretRule.HEADER_PAIRS else level.key
        if level.is_object and is_address(name):
            text = address_without_secrets(text)
        return self._text(text)

    def _in_header(self, level: _Level, text: str) -> str:
        if not level.previous:
            return text if _NAME.fullmatch(text) else REMOVED
        return self._header_value(level.previous, text)

    def _header_value(self, name: str, text: str) -> str:
        if is_harmless_header(name):
            return self._text(address_without_secrets(text))
        return text if _HIDDEN.fullmatch(text) else REMOVED

    def _header_line(self, text: str) -> str:
        """A line `Name: value` without its value; any other line may itself be a value."""
        name, sign, value = text.partition(":")
        if sign and is_harmless_header(name.strip()):
            return f"{name}:{self._text(address_without_secrets(value))}"
        return text if _HEADER_NAME.fullmatch(text) else _header(text)

    def _rule_of_value(self) -> _SecretRule:
        """The rule for the next value: that of its name, or else of its container."""
        level = self._levels[-1]
        if not level.is_object:
            return level.rule
        if level.rule is _SecretRule.HEADER_PAIRS and is_harmless_header(level.previous):
            return _SecretRule.PLAIN
        return _MEMBER_RULES.get(level.rule, _rule_of_name)(level.key)


def _rule_of_pair(name: str) -> _SecretRule:
    return _SecretRule.PLAIN if name.lower() in _PAIR_NAMES else _SecretRule.REMOVED


def _rule_of_header(name: str) -> _SecretRule:
    return _SecretRule.PLAIN if is_harmless_header(name) else _SecretRule.REMOVED


def _rule_in_list(rule: _SecretRule, *, is_object: bool) -> _SecretRule:
    if rule is _SecretRule.HEADERS:
        return _SecretRule.HEADER_PAIRS if is_object else _SecretRule.HEADER
    return _SecretRule.PAIRS if is_object else rule


def _rule_of_schema(name: str) -> _SecretRule:
    rule = _rule_of_name(name)
    if rule is _SecretRule.SCHEMAS:
        return _SecretRule.PLAIN  # the schema of a member named "properties"
    return rule if rule in {_SecretRule.PLAIN, _SecretRule.COMMAND} else _SecretRule.SECRET_SCHEMA


def _rule_in_schema(name: str) -> _SecretRule:
    return _SecretRule.PLAIN if name in _SCHEMA_WORDS else _SecretRule.REMOVED


_MEMBER_RULES: Final = {
    _SecretRule.ENVIRONMENT: lambda _name: _SecretRule.REMOVED,
    _SecretRule.HEADERS: _rule_of_header,
    _SecretRule.PAIRS: _rule_of_pair,
    _SecretRule.HEADER_PAIRS: _rule_of_pair,
    _SecretRule.SCHEMAS: _rule_of_schema,
    _SecretRule.SECRET_SCHEMA: _rule_in_schema,
}


def _rule_of_name(name: str) -> _SecretRule:
    if name == "properties":
        return _SecretRule.SCHEMAS
    if is_secret_name(name):
        return _SecretRule.REMOVED
    if is_environment(name):
        return _SecretRule.ENVIRONMENT
    if is_headers(name):
        return _SecretRule.HEADERS
    return _SecretRule.COMMAND if is_command(name) else _SecretRule.PLAIN


def _argument(previous: str, text: str) -> str:
    if _HEADER_OPTION.match(previous):
        return _header(text)
    if _VARIABLE_OPTION.match(previous):
        return _without_value(text)
    if previous.startswith("-") and "=" not in previous and is_secret_name(previous):
        return REMOVED
    option = _OPTION.fullmatch(text)
    if option is not None and is_secret_name(option[2]):
        return f"{option[1]}{REMOVED}"
    return _VARIABLE.sub(rf"\1{REMOVED}", text) if _VARIABLE.fullmatch(text) else text


def _without_value(text: str) -> str:
    """`NAME=VALUE` without its value; a name alone is kept."""
    name, sign, value = text.partition("=")
    return f"{name}={REMOVED}" if sign and value else text


def _header(text: str) -> str:
    """A line `Name: value` without its value; any other line may be a value."""
    if _PAIR.match(text):
        return _PAIR.sub(rf"\1{REMOVED}", text)
    return REMOVED


def _decoded(token: bytes) -> str:
    """The content of a JSON string, read leniently; bytes that are not UTF-8 survive."""
    text = token.decode("utf-8", "surrogateescape")
    if "\\" not in text:
        return text.strip('"')
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


def _encoded(value: str, token: bytes) -> bytes:
    """The text as a JSON string, to replace `token`, from which it was decoded.

    A lone surrogate is legal in JSON only as an escape. If `token` is not UTF-8, its invalid bytes
    were decoded to lone surrogates, and are restored.
    """
    text = json.dumps(value, ensure_ascii=False)
    if not _is_utf8(token):
        halves = _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
        return halves.encode("utf-8", "surrogateescape")
    return text.encode("utf-8", "backslashreplace")  # writes a lone surrogate as JSON does


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


_Given = TypeVar("_Given", bytes, str)


NOTE: Final = f"Secrets and resume tokens are redacted and replaced by {REMOVED}."
"""The note in every redacted export."""

_DEEPEST: Final = 4  # levels of JSON within strings of JSON
_OPENING: Final = ("{", "[")
_BOM: Final = b"\xef\xbb\xbf"


class Redaction:
    """Redacts bytes, texts and JSON values, unless `with_secrets`.

    `count` is the number of inputs that had secrets. Equal inputs have equal outputs.
    """

    def __init__(self, *, with_secrets: bool = False) -> None:
        self.with_secrets = with_secrets
        self.count = 0

    def raw(self, raw: bytes) -> bytes:
        """Redact a frame's bytes; JSON stays JSON, and bytes without secrets the same object."""
        if self.with_secrets or not may_have_secrets(raw):
            return raw
        return self._counted(raw, _raw(raw))

    def text(self, text: str) -> str:
        if self.with_secrets:
            return text
        return self._counted(text, _text(text))

    def value(self, value: Any) -> Any:
        """Redact a JSON value; elided values become text."""
        plain = _plain(value)
        if self.with_secrets:
            return plain
        raw = json.dumps(plain).encode()
        clean = self._counted(raw, _members(raw, 0))
        return plain if clean is raw else json.loads(clean)

    def member(self, name: str, value: Any) -> Any:
        return self.value({name: value})[name]

    def _counted(self, before: _Given, after: _Given) -> _Given:
        if before == after:
            return before
        self.count += 1
        return after


def _raw(raw: bytes) -> bytes:
    start = raw.removeprefix(_BOM).lstrip()[:1]
    if start not in (b"{", b"[", b'"'):
        return _encoded_text(_text(_decoded_text(raw)))
    clean = _members(raw, 0)
    if _is_json(clean.removeprefix(_BOM)):
        return clean
    # Invalid JSON is treated as text: a log line may start with a bracket.
    return _encoded_text(_plain_text(_decoded_text(clean)))


def _text(text: str, depth: int = 0) -> str:
    """Redact text, which may itself be JSON, as servers often send it."""
    if depth < _DEEPEST and text.lstrip()[:1] in _OPENING and _is_json(text):
        # In valid JSON, a lone surrogate can only be in a string, where an escape, as
        # `backslashreplace` writes it, is equivalent.
        raw = text.encode("utf-8", "backslashreplace")
        clean = _members(raw, depth)
        return text if clean is raw else clean.decode()
    return _plain_text(text)


def _plain_text(text: str) -> str:
    has_any = may_have_secrets(text.encode("utf-8", "replace"))
    return without_secrets(text) if has_any else text


def _members(raw: bytes, depth: int) -> bytes:
    def text(value: str) -> str:
        return _text(value, depth + 1)

    return SecretRemover(raw, text).run()


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _decoded_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _encoded_text(text: str) -> bytes:
    """Encode a text decoded by `_decoded_text`."""
    return text.encode("utf-8", "surrogateescape")


def _plain(value: Any) -> Any:
    """The value with text in place of elided values."""
    if isinstance(value, Elided):
        return f"({size(value.size)}, not decoded; see the message)"
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else value


def doctor_text(report: DoctorReport, now: float) -> str:
    text = report_text(_without_bytes(report, REMOVED.encode()), now)
    for secret in report.secrets:
        text = text.replace(secret, REMOVED)
    return without_secrets(text)


def _without_bytes(report: DoctorReport, removed: bytes) -> DoctorReport:
    """The report without secrets in its dump, where they could not be found as text."""
    first = report.first_bytes
    for secret in report.secrets:
        first = first.replace(secret.encode(), removed)
    return report._replace(first_bytes=first)
