"""Edits the command of one entry within a configuration's text: all other bytes stay.

The words of a tap are put before the server's own, whose spelling stays as it is, so that taking
them out again gives back the same bytes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from mcp_progress_monitor.catalogue.documents import UneditableError, without_comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.catalogue.taps import Launch


class Span(NamedTuple):
    """A stretch of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class _Change(NamedTuple):
    span: Span
    text: str


class EntryText(Protocol):
    """One entry in a text, in some language: where its command and its arguments are written."""

    text: str
    command: Span
    args: Span | None

    def literal(self, word: str) -> str: ...

    def elements(self, most: int) -> list[Span]: ...

    def new_args(self, literal: str) -> _Change:
        """Add arguments to an entry that has none."""
        ...

    def made_args(self) -> Span | None:
        """What `new_args` has added, all of it; None where something is different by now."""
        ...


def wrapped_text(entry: EntryText, lead: Launch) -> str:
    """The text with the command of `lead`, and its arguments before the entry's own command."""
    args = [*map(entry.literal, lead.args), entry.command.of(entry.text)]
    changes = [_Change(entry.command, entry.literal(lead.command))]
    if entry.args is None:
        changes.append(entry.new_args(_made(args)))
    else:
        changes.append(_added(entry, entry.args, args))
    return _changed(entry.text, changes)


def unwrapped_text(entry: EntryText, lead: int) -> str:
    """The text without the first `lead` arguments, and the next one as the command again."""
    if entry.args is None:
        raise UneditableError("it has no arguments")
    found = entry.elements(lead + 2)
    if len(found) <= lead:
        raise UneditableError("its arguments are not strings")
    lead_args = [span.of(entry.text) for span in found[: lead + 1]]
    changes = [_Change(entry.command, lead_args[-1])]
    made = entry.made_args() if entry.args.of(entry.text) == _made(lead_args) else None
    if made is not None:
        changes.append(_Change(made, ""))
    else:
        changes.append(_Change(_ours(entry, entry.args, found, lead), ""))
    return _changed(entry.text, changes)


def _made(words: Sequence[str]) -> str:
    """An array that was not there before. Its inner spaces tell it from one that was empty."""
    return f"[ {', '.join(words)} ]"


def _added(entry: EntryText, args: Span, words: Sequence[str]) -> _Change:
    """Our words before the first argument, in lines of their own where that has one."""
    first = next(iter(entry.elements(1)), None)
    if first is None:
        if entry.text[args.start + 1 : args.end - 1].strip(" \t\r\n") == "":
            return _Change(Span(args.start + 1, args.start + 1), ", ".join(words))
        raise UneditableError("its arguments are not strings")
    before = entry.text[args.start + 1 : first.start]
    space = before[len(before.rstrip(" \t\r\n")) :]
    between = f",{space if chr(10) in space else ' '}"
    return _Change(Span(first.start, first.start), between.join([*words, ""]))


def _ours(entry: EntryText, args: Span, found: Sequence[Span], lead: int) -> Span:
    """The arguments that are the tap's, with the commas between them and after them."""
    start, end = found[0].start, found[lead].end
    text = entry.text
    if len(found) > lead + 1:
        after = text[end : found[lead + 1].start]
        comma = _COMMA.match(after)
        if comma is None:
            raise UneditableError("comments stand between its arguments")
        whole = after[comma.end() :].strip(" \t\r\n") == ""
        return Span(start, found[lead + 1].start if whole else end + comma.end())
    comma = _COMMA.match(text[end : args.end])
    return Span(start, end if comma is None else end + comma.end())


_COMMA: Final = re.compile(r"[ \t\r\n]*,")


def _changed(text: str, changes: Sequence[_Change]) -> str:
    for change in sorted(changes, key=lambda change: change.span, reverse=True):
        text = text[: change.span.start] + change.text + text[change.span.end :]
    return text


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_ADDED_JSON: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\"args\"[ \t\r\n]*:[ \t\r\n]*")


class JsonEntry:
    """An entry in JSON, with comments and trailing commas allowed."""

    def __init__(self, text: str, path: Sequence[str], names: tuple[str, str]) -> None:
        """Find the entry at `path`, whose command and arguments have these names.

        Raises:
            UneditableError: it is not there, or has no command.
        """
        self.text = text
        self._plain = without_comments(text)  # every place stays what it was
        holder = Span(_after_space(self._plain, 0), len(text))
        for name in path:
            holder = self._member(holder, name)
        members = self._members(holder)
        if names[0] not in members:
            raise UneditableError("it has no command")
        self._key_at, self.command = members[names[0]]
        self.args = members[names[1]][1] if names[1] in members else None
        if self.args is not None and self._plain[self.args.start] != "[":
            raise UneditableError("its arguments are not a list")

    def literal(self, word: str) -> str:
        try:
            word.encode()
        except UnicodeEncodeError:
            return json.dumps(word)
        return json.dumps(word, ensure_ascii=False)

    def elements(self, most: int) -> list[Span]:
        found: list[Span] = []
        at = _after_space(self._plain, self.args.start + 1) if self.args else len(self.text)
        while len(found) < most and self._plain[at : at + 1] not in {"]", ""}:
            end = _value_end(self._plain, at)
            found.append(Span(at, end))
            at = _after_space(self._plain, end)
            at = _after_space(self._plain, at + 1) if self._plain[at : at + 1] == "," else at
        return found

    def new_args(self, literal: str) -> _Change:
        """Arguments behind the command, in a line of their own if that has one."""
        before = self.text[: self._key_at]
        space = before[len(before.rstrip(" \t\r\n")) :]
        place = Span(self.command.end, self.command.end)
        return _Change(place, f',{space if chr(10) in space else " "}"args": {literal}')

    def made_args(self) -> Span | None:
        """The member with the arguments, with the comma before it."""
        if self.args is None or self.args.start < self.command.end:
            return None
        between = self.text[self.command.end : self.args.start]
        return Span(self.command.end, self.args.end) if _ADDED_JSON.fullmatch(between) else None

    def _member(self, holder: Span, name: str) -> Span:
        found = self._members(holder).get(name)
        if found is None:
            raise UneditableError(f"{name!r} is not in the file")
        return found[1]

    def _members(self, holder: Span) -> dict[str, tuple[int, Span]]:
        """An object's members: where the key starts, and where the value is."""
        plain, found = self._plain, dict[str, tuple[int, Span]]()
        if plain[holder.start : holder.start + 1] != "{":
            raise UneditableError("it is not an object")
        at = _after_space(plain, holder.start + 1)
        while plain[at : at + 1] == '"':
            key_at = at
            name, end = _DECODER.raw_decode(plain, at)
            start = _after_space(plain, _after_space(plain, end) + 1)
            end = _value_end(plain, start)
            found.setdefault(name, (key_at, Span(start, end)))
            at = _after_space(plain, end)
            at = _after_space(plain, at + 1) if plain[at : at + 1] == "," else at
        return found


def _after_space(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _value_end(plain: str, at: int) -> int:
    try:
        return _DECODER.raw_decode(plain, at)[1]
    except ValueError as error:
        raise UneditableError("it is not valid JSON") from error


_TOML_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?!")|\'\'\'.*?\'\'\'(?!\')|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_TOML_GAP: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_LINE_KEY: Final = (
    r"(?P<head>[ \t]*(?:[^{{}}\n=]*\.)?[ \t]*)(?:{0}|\"{0}\"|'{0}')(?P<equals>[ \t]*=[ \t]*)"
)
_ADDED_TOML: Final = re.compile(r"[ \t]*,[ \t]*args[ \t]*=[ \t]*")


class TomlEntry:
    """An entry in TOML: a table, an inline table, or dotted keys."""

    def __init__(self, text: str, path: Sequence[str], names: tuple[str, str]) -> None:
        """Find the entry at `path`, whose command and arguments have these names.

        Raises:
            UneditableError: it is not there, or is written in a way that tomlkit cannot edit.
        """
        from mcp_progress_monitor.catalogue.toml_editing import value_place

        self.text = text
        self._names = names
        command = value_place(text, (*path, names[0]))
        if command is None:
            raise UneditableError("it has no command")
        self.command = Span(*command)
        args = value_place(text, (*path, names[1]))
        self.args = None if args is None else Span(*args)
        if self.args is not None and not self.args.of(text).startswith("["):
            raise UneditableError("its arguments are not a list")

    def literal(self, word: str) -> str:
        from mcp_progress_monitor.catalogue.toml_editing import string_literal

        return string_literal(word)

    def elements(self, most: int) -> list[Span]:
        """Where the first arguments are, up to one that is not a string."""
        if self.args is None:
            return []
        found: list[Span] = []
        at = self._gap_end(self.args.start + 1)
        while len(found) < most:
            string = _TOML_STRING.match(self.text, at, self.args.end)
            if string is None:
                break
            found.append(Span(*string.span()))
            at = self._gap_end(string.end())
            if self.text[at : at + 1] != ",":
                break
            at = self._gap_end(at + 1)
        return found

    def new_args(self, literal: str) -> _Change:
        """Arguments in the line below the command, or behind it in an inline table."""
        key = self._key(self.command, self._names[0])
        if key is None:
            place = Span(self.command.end, self.command.end)
            return _Change(place, f", {self._names[1]} = {literal}")
        end = self._line_end(self.command.end)
        line_end = "\r\n" if "\r\n" in self.text else "\n"
        text = f"{line_end}{key['head']}{self._names[1]}{key['equals']}{literal}"
        return _Change(Span(end, end), text)

    def made_args(self) -> Span | None:
        """The line with the arguments, or what stands between the command and their end."""
        if self.args is None or self.args.start < self.command.end:
            return None
        between = self.text[self.command.end : self.args.start]
        if _ADDED_TOML.fullmatch(between):
            return Span(self.command.end, self.args.end)
        key = self._key(self.args, self._names[1])
        if key is None or self._line_end(self.args.end) != self.args.end:
            return None
        start = self.args.start - len(key[0])
        start -= 2 if self.text[:start].endswith("\r\n") else 1
        return Span(start, self.args.end)

    def _key(self, value: Span, name: str) -> re.Match[str] | None:
        """The key before a value that has a line of its own."""
        line = self.text[self.text.rfind("\n", 0, value.start) + 1 : value.start]
        return re.fullmatch(_LINE_KEY.format(re.escape(name)), line)

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > at and self.text[end - 1] == "\r" else end

    def _gap_end(self, at: int) -> int:
        found = _TOML_GAP.match(self.text, at)
        return found.end() if found else at
