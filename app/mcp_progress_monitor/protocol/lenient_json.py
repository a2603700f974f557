"""Decodes JSON leniently: the value, and a finding for every rule that its bytes break."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, Rule, texts
from mcp_progress_monitor.protocol.messages import ECHOED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


DEEPEST = 200  # deepest nesting that is decoded, the limit of pydantic's parser; see `TooDeepError`

BOM = b"\xef\xbb\xbf"

_MOST_FINDINGS = 8
_SHALLOW_BYTES = 2 * DEEPEST  # a shorter text cannot be nested too deep
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of one, paired or not
_HALF = re.compile("[\ud800-\udfff]")


class Elided(NamedTuple):
    """A value that was left undecoded because of its `size` in bytes, or its depth."""

    size: int
    is_too_deep: bool = False


class LenientJson(NamedTuple):
    """A decoded value, and the findings on its text."""

    value: Any
    findings: tuple[Finding, ...]

    @property
    def violations(self) -> tuple[str, ...]:
        return texts(self.findings)


class NotJsonError(ValueError):
    """The bytes are not JSON, even leniently; the message names the place and reason."""


class TooDeepError(ValueError):
    """The value is nested deeper than `DEEPEST`: walking it by recursion would fail."""


def read_value(raw: bytes, key: str = "") -> LenientJson:
    """Decode one JSON value.

    A byte order mark, invalid UTF-8, lone surrogates, NaN, control characters in strings and
    repeated keys are decoded and reported. Strings of the value can be written as UTF-8, except for
    ids and tokens (`ECHOED`), which are kept as they came, to be sent back so. `key` is the name of
    a value that is a member of something.

    Raises:
        NotJsonError: no reading makes sense of the bytes.
        TooDeepError: the value is nested too deep to be handed on.
    """
    try:
        value = _parser()(raw, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        if "recursion limit" in str(error):
            raise TooDeepError(str(error)) from None
        return _read_leniently(raw, key)
    return LenientJson(value, repeated_keys(raw, value))


@functools.cache
def _parser() -> Callable[..., Any]:
    from pydantic_core import from_json  # with the first message

    return from_json


def repeated_keys(raw: bytes, value: Any) -> tuple[Finding, ...]:
    """Report keys that occur twice in one object of `value`, which was decoded from `raw`.

    Every key has its colon. If there are as many colons as decoded keys and colons in decoded
    strings, no key was lost. Only otherwise is the text decoded a second time.
    """
    if raw.count(b":") == colon_count(value) and not has_escaped_colon(raw):
        return ()
    notes = _Notes()
    try:
        json.loads(raw, object_pairs_hook=notes.as_dict)
    except (ValueError, RecursionError):  # pydantic has decoded it: then no repeated key is known
        return ()
    return notes.as_tuple()


def has_escaped_colon(raw: bytes) -> bool:
    """Return whether a colon may be written as an escape, which is not counted as one."""
    # One byte is sought much faster than several.
    return b"\\" in raw and (b"\\u003a" in raw or b"\\u003A" in raw)


def read_object(raw: bytes) -> dict[str, Any] | None:
    """Decode an object in half the time of `read_value`; None if that may have more to say of it.

    Of what one of the decoders accepts and the other refuses, numbers beyond floats and deep
    nesting, the result is None.
    """
    try:
        value = _fast_decoder()(raw)
    except (ValueError, RecursionError):
        return None
    is_exact = (
        type(value) is dict
        and raw.count(b":") == colon_count(value)
        and not has_escaped_colon(raw)
        and is_shallow(raw)
    )
    return value if is_exact else None


def is_shallow(raw: bytes) -> bool:
    """Tell that a text cannot be nested too deep: it is short, or has few brackets."""
    return len(raw) < _SHALLOW_BYTES or raw.count(b"{") + raw.count(b"[") < DEEPEST


def array_parts(raw: bytes) -> list[bytes] | None:
    """The exact bytes of the elements of an array; None where a decoder is in doubt about it.

    Whatever it takes to pieces, `read_value` decodes as well.
    """
    try:
        return list(map(bytes, _splitter()(raw)))
    except (ValueError, RecursionError):
        return None


@functools.cache
def _splitter() -> Callable[[bytes], list[Any]]:
    import msgspec  # late: not at startup

    return msgspec.json.Decoder(list[msgspec.Raw]).decode


@functools.cache
def _fast_decoder() -> Callable[[bytes], Any]:
    import msgspec  # late: not at startup

    return msgspec.json.Decoder().decode


def colon_count(value: Any) -> int:
    """Return how many colons the JSON text of `value` has, if none is escaped.

    Encoded again and counted: an eighth of the time of walking a value, which for fifty servers'
    lists of tools was a quarter of the time to connect them.
    """
    try:
        return _encoder()(value).count(b":")
    except (TypeError, ValueError, OverflowError, RecursionError):  # not representable in JSON
        return _counted_colons(value)


@functools.cache
def _encoder() -> Callable[[Any], bytes]:
    import msgspec  # with the first message: 8 ms that an empty window does not need

    return msgspec.json.encode


def _counted_colons(value: Any) -> int:
    """The same, of any value."""
    count = 0
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is str:
            count += item.count(":")
        elif kind is dict:
            count += len(item)
            pending.extend(item)
            pending.extend(item.values())
        elif kind is list:
            pending.extend(item)
    return count


class _Notes:
    """Collects findings while `json` decodes: each once, at most `_MOST_FINDINGS`."""

    def __init__(self) -> None:
        self._findings: dict[Finding, None] = {}

    def add(self, rule: Rule, *arguments: str | int) -> None:
        finding = Finding(rule, arguments)
        if len(self._findings) < _MOST_FINDINGS:
            self._findings[finding] = None
        elif finding not in self._findings:
            self._findings[Finding(rules.MORE_OF_THE_KIND)] = None

    def as_tuple(self) -> tuple[Finding, ...]:
        return tuple(self._findings)

    def as_dict(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            self._note_repeated(pairs)
        return members

    def _note_repeated(self, pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                self.add(rules.REPEATED_KEY, shown(key))
            seen.add(key)

    def constant(self, name: str) -> float:
        self.add(rules.NO_NUMBER, name)
        return float(name)

    def integer(self, digits: str) -> int | Elided:
        try:
            return int(digits)
        except ValueError:
            self.add(rules.LONG_INTEGER, len(digits))
            return Elided(len(digits))


def _read_leniently(raw: bytes, key: str) -> LenientJson:
    notes = _Notes()
    if raw.startswith(BOM):
        notes.add(rules.BYTE_ORDER_MARK)
        raw = raw[len(BOM) :]
    text = _as_text(raw, notes)
    try:
        value = _decode(text, notes)
    except RecursionError:
        raise TooDeepError("nested too deeply") from None
    if _is_too_deep(value):
        raise TooDeepError("nested too deeply")
    if _SURROGATE.search(text):
        value = _without_halves(value, key, notes)
    return LenientJson(value, notes.as_tuple())


def _as_text(raw: bytes, notes: _Notes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        notes.add(rules.INVALID_UTF8, error.start + 1)
        return raw.decode(errors="replace")


def _without_halves(value: Any, key: str, notes: _Notes) -> Any:
    """Replace halves of surrogate pairs, which cannot be written to files or terminals."""
    if isinstance(value, str) and _HALF.search(value):
        notes.add(rules.HALF_SURROGATE)
        return value if key in ECHOED else _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _without_halves(name, "", notes): _without_halves(item, name, notes)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_without_halves(item, "", notes) for item in value]
    return value


def _decode(text: str, notes: _Notes) -> Any:
    try:
        return _decoder(notes, is_strict=True).decode(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid control character"):
            raise NotJsonError(f"{error.msg} at character {error.pos + 1:,}") from None
        notes.add(rules.CONTROL_CHARACTER, error.pos + 1)
    try:
        return _decoder(notes, is_strict=False).decode(text)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg} at character {error.pos + 1:,}") from None


def _decoder(notes: _Notes, *, is_strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        strict=is_strict,
        parse_constant=notes.constant,
        parse_int=notes.integer,
        object_pairs_hook=notes.as_dict,
    )


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below.extend(item.values())
            elif type(item) is list:
                below.extend(item)
        if not below:
            return False
        level = below
    return True


def shown(value: Any, limit: int = 40) -> str:
    """`value` as short JSON in ASCII, for use within a sentence."""
    if isinstance(value, Elided):
        depth = ", nested too deeply to decode" if value.is_too_deep else ""
        return f"a value of {value.size:,} bytes{depth}"
    if isinstance(value, str):
        text = json.encoder.encode_basestring_ascii(value[: limit + 1])
    else:
        text = json.dumps(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


_TEXT = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
"""Finds where values end; its numbers stay text, however long."""
_BLANKS = re.compile(r"[ \t\n\r]*")


def span_of(raw: bytes, keys: Sequence[str | int]) -> tuple[int, int] | None:
    """From and to which byte the value lies to which `keys` lead; None where it is not found.

    Of a name that occurs twice in an object the last one counts, as in the value that is read.
    """
    text = raw.decode(errors="surrogateescape")
    try:
        at = _after_blanks(text, 0)
        for key in keys:
            at = _member(text, at, key)
        end = _TEXT.raw_decode(text, at)[1]
    except (ValueError, IndexError, RecursionError):
        return None
    start = len(text[:at].encode(errors="surrogateescape"))
    return start, start + len(text[at:end].encode(errors="surrogateescape"))


def _member(text: str, at: int, key: str | int) -> int:
    """Return where the value of a member or an element begins, in the object or array at `at`."""
    is_object = text[at] == "{"
    if text[at] not in "{[":
        raise ValueError("neither an object nor an array")
    found, place = -1, 0
    at = _after_blanks(text, at + 1)
    while text[at] not in "}]":
        name: Any = place
        if is_object:
            name, at = _TEXT.raw_decode(text, at)
            at = _after_blanks(text, _after_blanks(text, at) + 1)  # a colon is between
        if name == key:
            found = at
        at = _after_blanks(text, _TEXT.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
        place += 1
    if found < 0:
        raise ValueError("not there")
    return found


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()
