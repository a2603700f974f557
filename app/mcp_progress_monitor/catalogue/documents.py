"""Configuration files: read, locked, replaced atomically, and parsed as lenient JSON or TOML."""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import math
import os
import re
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from mcp_progress_monitor import formatting, private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.secrets import is_literal, is_secret_setting, shown_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATIENCE_S: Final = 5.0


class UnwritableError(UserError):
    """A file cannot be written, because of the disk, its folder or its permissions."""


@contextlib.contextmanager
def exclusive_lock(path: Path, what: str) -> Iterator[None]:
    """Lock a file against other instances of this program while it is changed.

    Proceeds unlocked where locking is unsupported, or the folder cannot be created.

    Raises:
        UserError: another instance holds the lock for too long; `what` names the data.
    """
    from filelock import FileLock, Timeout  # imported by writers only

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600, timeout=_PATIENCE_S)
    try:
        private_file.make_folder(path.parent)
        lock.acquire()
    except Timeout as error:
        hint = "Try again in a moment."
        details = ErrorDetails(f"Another program is changing {what}", str(path), hint)
        raise UserError(details) from error
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


LARGEST_BYTES: Final = 16 * 1024 * 1024  # larger files are not configuration files and are not read

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks with their encodings; longer marks before their prefixes."""


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        UserError: it cannot be read, is not a regular file, or is larger than `LARGEST_BYTES`.
        FileNotFoundError: it does not exist.
    """
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe or a device could block forever.
            raise UserError(_unreadable(path, "it is a folder or a device, not a file"))
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(_unreadable(path, reason)) from error
    if len(content) > LARGEST_BYTES:
        limit = formatting.size(LARGEST_BYTES)
        what = f"The file is larger than {limit}, too large for a configuration file"
        raise UserError(ErrorDetails(what, str(path), "Check that this is the right file."))
    return content


def read_text(path: Path) -> str:
    """Read a file's text; `UserError` also if it does not exist or is not text."""
    try:
        return decoded(read_bytes(path), path)
    except FileNotFoundError as error:
        raise UserError(_unreadable(path, error.strerror or str(error))) from error


def decoded(content: bytes, path: Path) -> str:
    """Decode UTF-8, or the encoding of the byte order mark, which is removed.

    Raises:
        UserError: the text is not valid; names line and column of the first invalid byte.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        details = ErrorDetails(
            f"The file is not valid {encoding.removesuffix('-sig').upper()}",
            f"{path}, line {line}, column {column}",
            "Save it as UTF-8.",
        )
        raise UserError(details) from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner.

    A missing folder is created with the same restriction. A link is followed and kept.

    Raises:
        UserError: it cannot be written; the previous content is kept.
    """
    with _writing("Cannot write the file", path, "Choose another folder, or free some disk space."):
        place = path.resolve()
        private_file.make_folder(place.parent)
        private_file.put(place, content)


def replace_content(path: Path, content: bytes) -> None:
    """Replace the content of another program's file atomically, keeping its permissions.

    A link is followed and kept.

    Raises:
        UserError: it cannot be written; the previous content is kept.
    """
    hint = "Check the permissions of the file and its folder."
    with _writing("Cannot change the file", path, hint):
        place = path.resolve(strict=True)
        if not os.access(place, os.W_OK):  # replacing it would succeed
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        private_file.put(place, content, mode=stat.S_IMODE(place.stat().st_mode))


@contextlib.contextmanager
def _writing(what: str, path: Path, hint: str) -> Iterator[None]:
    """Raise an `OSError` as `UnwritableError` with these details."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwritableError(ErrorDetails(what, str(path), hint, reason)) from error


def _unreadable(path: Path, reason: str) -> ErrorDetails:
    hint = "Check the path and the file's permissions."
    return ErrorDetails("Cannot read the configuration file", str(path), hint, reason)


_TOKEN: Final = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*+:)?|[{}\[\]]|\n', re.DOTALL)
_MOST_DUPLICATES: Final = 100  # a file with more of them has another error


class UneditableError(Exception):
    """A document cannot be edited in place."""


class DuplicateKey(NamedTuple):
    """A repeated name in an object, the keys that lead to the object, and the line."""

    path: tuple[str, ...]
    name: str
    line: int


class _ObjectLevel:
    """An object or array that is not closed yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: set[str] = set()
        self.newest = ""


def duplicate_keys(text: str) -> Iterator[DuplicateKey]:
    """All duplicate keys in valid JSON without comments, in order."""
    levels = [_ObjectLevel("")]
    line, count = 1, 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found[2] is not None and found[1] is not None:
            name = json.loads(found[1], strict=False)
            if name in levels[-1].keys:
                count += 1
                yield DuplicateKey(tuple(level.name for level in levels[2:]), name, line)
            levels[-1].keys.add(name)
            levels[-1].newest = name
        elif token in {"{", "["}:
            levels.append(_ObjectLevel(levels[-1].newest))
        elif token in {"}", "]"} and len(levels) > 1:
            levels.pop()
        line += token.count("\n")
        if count >= _MOST_DUPLICATES:
            return


_CHARACTERS: Final = 60
_LONGEST_LINE: Final = 100_000  # characters searched for secrets: a file may have no line ends
_WORD: Final = re.compile(
    r"""(?P<quote>["'])(?P<quoted>(?:(?!(?P=quote))[^\\]|\\.)*+\\?)(?:(?P=quote)|\Z)"""
    r"""|(?P<bare>[^\s"',:=\[\]{}]++)"""
)
_KEY_END: Final = re.compile(r"\s*+[:=]")
_MASK: Final = "*"


def excerpt(text: str, line: int, column: int) -> str:
    """The part of a line around an error, with a caret below it.

    What looks like a secret is masked character by character, so that columns stay the same.
    """
    lines = text.split("\n")
    whole = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    start = max(0, column - 1 - _CHARACTERS // 2)
    end = start + _CHARACTERS
    begin = max(0, end - _LONGEST_LINE)
    shown = covered(whole[begin : end + _LONGEST_LINE])[start - begin : end - begin]
    shown = shown.replace("\t", " ")
    return f"{shown}\n{' ' * (column - 1 - start)}^" if shown.strip() else ""


def covered(line: str) -> str:
    """A line of a possibly invalid document, with the values of secrets masked."""
    parts: list[str] = []
    end, previous, is_secret = 0, "", False
    for found in _WORD.finditer(line):
        group = "bare" if found["quoted"] is None else "quoted"
        word, (first, last) = found[group], found.span(group)
        if _KEY_END.match(line, found.end()):
            previous, is_secret = word, is_secret_setting(word)
            continue
        is_named = previous != "" and is_secret_setting(previous.lstrip("-"))
        if is_literal(word) and (is_secret or is_named or _is_secret_argument(previous, word)):
            parts += [line[end:first], _MASK * len(word)]
            end = last
        previous = "" if is_secret or is_named else word
    return "".join([*parts, line[end:]])


def _is_secret_argument(previous: str, word: str) -> bool:
    return shown_arguments((previous, word))[1] != word


DEEPEST: Final = 100  # levels of nested objects and arrays

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_STRING: Final = r'"(?:[^"\\\n]++|\\.)*+(?:"|(?=\n)|\\?\Z)'
"""Matches unterminated strings as well: searching for their end repeatedly would be quadratic."""
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""A comment or a string: strings are matched so that comments are not found within them."""
_TRAILING: Final = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])", re.DOTALL)
_NUMBER: Final = re.compile(rf"{_STRING}|(NaN|-?Infinity|-?[0-9]{{4300,}}+(?![0-9.eE]))", re.DOTALL)
_ALL_BUT_LINE_ENDS: Final = re.compile(r"[^\r\n]")


class Document(NamedTuple):
    """A parsed file; of duplicate keys, the first is in `value`."""

    value: Any
    duplicates: tuple[DuplicateKey, ...] = ()


class Mistake(NamedTuple):
    """An error in a text; lines and columns are counted from 1."""

    what: str
    line: int
    column: int


def read_json(text: str, where: str, hint: str) -> Document:
    """Parse JSON with `//` and `/* */` comments and trailing commas.

    Raises:
        UserError: it is invalid; with line, column and an excerpt.
    """
    plain = without_comments(text)
    try:
        repeats: list[bool] = []
        value = json.loads(plain, object_pairs_hook=_FirstWins(repeats), parse_constant=_refused)
    except json.JSONDecodeError as error:
        mistake = Mistake(error.msg, error.lineno, error.colno)
        raise UserError(_details("JSON", text, where, hint, mistake)) from error
    except RecursionError as error:
        raise UserError(_too_deep(where, hint)) from error
    except ValueError as error:  # NaN, or an integer of thousands of digits
        mistake = _bad_number(plain)
        raise UserError(_details("JSON", text, where, hint, mistake)) from error
    _check_depth(value, where, hint)
    return Document(value, tuple(duplicate_keys(plain)) if repeats else ())


def is_plain_json(text: str) -> bool:
    """Return whether the text is strict JSON, so that rewriting it loses nothing."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def json_text(value: object) -> str:
    """Indented JSON that can be encoded as UTF-8."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
        text = json.dumps(value, indent=2)
    return f"{text}\n"


def read_toml(text: str, where: str, hint: str) -> Document:
    """Parse TOML, in which duplicate keys are errors; raises as `read_json` does."""
    import tomllib  # seldom needed

    try:
        value = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(_details("TOML", text, where, hint, _toml_mistake(error, text))) from error
    except RecursionError as error:
        raise UserError(_too_deep(where, hint)) from error
    except ValueError as error:
        raise UserError(
            ErrorDetails(f"The configuration file is not valid TOML: {error}", where, hint)
        ) from error
    _check_depth(value, where, hint)
    return Document(_as_json(value))


def _as_json(value: Any) -> Any:
    """A TOML value with dates, times and non-finite numbers as strings."""
    if isinstance(value, dict):
        return {key: _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float) else value.isoformat()


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas replaced by spaces, so that positions stay."""
    if "//" in text or "/*" in text:
        text = _COMMENT.sub(_blank, text)
    return _TRAILING.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    token = found[0]
    return token if token.startswith('"') else _ALL_BUT_LINE_ENDS.sub(" ", token)


class _FirstWins:
    """Makes objects in which the first of duplicate keys wins, and notes duplicates."""

    def __init__(self, repeats: list[bool]) -> None:
        self._repeats = repeats

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self._repeats.append(True)
        first: dict[str, Any] = {}
        for name, value in pairs:
            first.setdefault(name, value)
        return first


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _bad_number(plain: str) -> Mistake:
    """The invalid or too long number in a text that is otherwise JSON."""
    found = next((each for each in _NUMBER.finditer(plain) if each[1] is not None), None)
    if found is None:
        return Mistake("invalid number", 1, 1)
    is_long = found[1].lstrip("-").isdigit()
    what = "number is too long" if is_long else f"{found[1]} is not a JSON number"
    before = plain[: found.start(1)]
    return Mistake(what, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _toml_mistake(error: ValueError, text: str) -> Mistake:
    """The position of an error, which the library has only in its message."""
    message = str(error)
    place = _PLACE.search(message)
    lines = text.split("\n")
    if place is None:
        return Mistake(message, 1, 1)
    what = message[: place.start()]
    if place[1] is None:
        return Mistake(f"{what}: unexpected end of file", len(lines), len(lines[-1]) + 1)
    return Mistake(what, int(place[1]), int(place[2]))


def _details(kind: str, text: str, where: str, hint: str, mistake: Mistake) -> ErrorDetails:
    return ErrorDetails(
        f"The configuration file is not valid {kind}: {mistake.what}",
        f"{where}, line {mistake.line}, column {mistake.column}",
        hint,
        excerpt(text, mistake.line, mistake.column),
    )


def _too_deep(where: str, hint: str) -> ErrorDetails:
    return ErrorDetails("The configuration file is nested too deeply", where, hint)


def _check_depth(value: object, where: str, hint: str) -> None:
    """Refuse nesting that is too deep for recursive functions."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return
    raise UserError(_too_deep(where, hint))


def _members(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
