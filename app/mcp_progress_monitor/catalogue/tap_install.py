"""Adds taps to the servers in other clients' configurations, and removes them.

Nothing is written before `save`: a change has the bytes before and after, to be reviewed first.
Only the command and arguments of an entry are edited: the tap's arguments are inserted before the
server's own, whose spelling is kept, so that removing them restores the same bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import difflib
import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.client_files import FoundFile, NoContainerError, containers_of
from mcp_progress_monitor.catalogue.documents import (
    UneditableError,
    covered,
    decoded,
    json_text,
    read_bytes,
    replace_content,
    without_comments,
    write_private,
)
from mcp_progress_monitor.catalogue.reading import is_toml, read_document
from mcp_progress_monitor.catalogue.taps import (
    entry_tap,
    launch_keys,
    launch_names,
    unwrapped,
    unwrapped_entry,
    wrapper,
)
from mcp_progress_monitor.catalogue.writing import free_beside, latest_beside, lock_of_clients
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.protocol.secrets import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.client_files import ServerContainer
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.documents import Document
    from mcp_progress_monitor.catalogue.taps import EntryTap, Launch, TapProgram


_LONGEST_LINE: Final = 600
_CONTEXT: Final = 2
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_URLS: Final = ("url", "serverUrl", "httpUrl", "uri")


@dataclasses.dataclass(frozen=True, slots=True)
class ClientServer:
    """A server in a client's configuration.

    `place` are the keys that lead to its entry. `launch` is the server's own command, if any, and
    `tap` the outermost tap around it. `why_not` says why it cannot be tapped; empty if it can.
    """

    client: McpClient
    path: Path
    name: str
    place: tuple[str, ...]
    launch: Launch | None = None
    tap: EntryTap | None = None
    why_not: str = ""
    project: Path | None = None
    is_shared: bool = False

    @property
    def key(self) -> tuple[Path, tuple[str, ...]]:
        return self.path, self.place


class FileChange(NamedTuple):
    """A change of the taps in one file.

    `servers` are those that change; `entries` has the entry of each before and after.
    """

    client: McpClient
    path: Path
    before: bytes
    after: bytes
    servers: tuple[ClientServer, ...]
    entries: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()

    @property
    def watched(self) -> list[ClientServer]:
        pairs = zip(self.servers, self.entries, strict=True)
        return [server for server, (_before, after) in pairs if entry_tap(after) is not None]

    @property
    def released(self) -> list[ClientServer]:
        watched = {server.key for server in self.watched}
        return [server for server in self.servers if server.key not in watched]

    def diff(self) -> list[str]:
        """A unified diff, with values that look like secrets masked."""
        old, new = _text(self.before, self.path)[1], _text(self.after, self.path)[1]
        if max(map(len, (*old.splitlines(), *new.splitlines())), default=0) > _LONGEST_LINE:
            old = "".join(json_text(entry) for entry, _ in self.entries)
            new = "".join(json_text(entry) for _, entry in self.entries)
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), str(self.path), str(self.path), "", "", _CONTEXT, ""
        )
        return [covered(line) for line in lines]


def servers_of(found: FoundFile) -> list[ClientServer]:
    """The servers of a client's file, in order; empty if it has only other settings.

    Raises:
        UserError: the file cannot be read.
    """
    return _servers_in(found, decoded(read_bytes(found.path), found.path))


def _servers_in(found: FoundFile, text: str) -> list[ClientServer]:
    document = read_document(found.path, text, found.client)
    try:
        containers = containers_of(found.client, document.value, str(found.path))
    except NoContainerError:
        return []
    return [
        _server(found, container, name) for container in containers for name in container.servers
    ]


def _server(found: FoundFile, container: ServerContainer, name: str) -> ClientServer:
    entry = container.servers[name]
    server = ClientServer(
        found.client,
        found.path,
        name,
        (*container.path, name),
        project=container.project,
        is_shared=found.is_shared,
    )
    if not isinstance(entry, dict):
        return dataclasses.replace(server, why_not="its entry is not an object")
    command, args = _launch(entry)
    if not isinstance(command, str) or not command:
        return dataclasses.replace(server, why_not=_why_no_command(entry))
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        return dataclasses.replace(server, why_not="its arguments are not a list of strings")
    return dataclasses.replace(
        server,
        launch=unwrapped(command, args),
        tap=entry_tap(entry),
        why_not=_why_not(entry, is_shared=found.is_shared),
    )


def _launch(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    holder = entry["command"] if launch_keys(entry) else entry
    command, args = launch_names(entry)
    return holder.get(command), holder.get(args, [])


def _why_no_command(entry: Mapping[str, Any]) -> str:
    url = next((entry[name] for name in _URLS if entry.get(name)), None)
    if url is not None:
        shown = formatting.one_line(shown_url(str(url)))
        return f"it has a URL; run tap --to {shown} and give the client the URL that it prints"
    return "its entry has no command"


def _why_not(entry: Mapping[str, Any], *, is_shared: bool) -> str:
    development = entry.get("dev")
    if isinstance(development, dict) and development.get("debug"):
        return "VS Code debugs it, and must start it itself"
    if is_shared:
        return "its file belongs to a project and may be shared"
    return ""


def tapped(servers: Sequence[ClientServer], program: TapProgram) -> FileChange:
    """Add taps to servers of one file; an existing tap that can still run is kept.

    One of an earlier version is brought into the form of this one.

    Raises:
        UserError: the file cannot be read, or an entry cannot be edited.
    """
    return _changed(servers, lambda source, server: _tapped(source, server, program))


def untapped(servers: Sequence[ClientServer]) -> FileChange:
    """Remove all taps from servers of one file.

    Raises:
        UserError: the file cannot be read, or an entry cannot be edited.
    """
    return _changed(servers, _bare)


def exchanged(
    watch: Sequence[ClientServer], stop: Sequence[ClientServer], program: TapProgram
) -> list[FileChange]:
    """Add and remove taps, as one change for each file.

    Raises:
        UserError: a file cannot be read, or an entry cannot be edited.
    """
    stopped = {server.key for server in stop}

    def change(source: _Source, server: ClientServer) -> _Source:
        if server.key in stopped:
            return _bare(source, server)
        return _tapped(source, server, program)

    return [_changed(servers, change) for servers in by_file([*watch, *stop])]


def by_file(servers: Iterable[ClientServer]) -> list[list[ClientServer]]:
    """The servers grouped by file, in order."""
    files: dict[Path, list[ClientServer]] = {}
    for server in servers:
        files.setdefault(server.path, []).append(server)
    return list(files.values())


class FileChangedError(UserError):
    """The file to change is no longer as it was read."""


def save(change: FileChange) -> Path | None:
    """Write a change; returns the path of the backup from before the first tap, if there is one.

    The backup is kept while the file has taps, and deleted when the file is equal to it again.

    Raises:
        FileChangedError: the file was changed meanwhile.
        UserError: it cannot be written.
    """
    path = change.path
    with lock_of_clients():
        if read_bytes(path) != change.before:
            hint = "Try again; the client may have written it."
            details = ErrorDetails("The file has changed in the meantime", str(path), hint)
            raise FileChangedError(details)
        kept = _backup(change)
        replace_content(path, change.after)
        if kept is not None and read_bytes(kept) == change.after:
            with contextlib.suppress(OSError):
                kept.unlink()
            return None
        return kept


def _backup(change: FileChange) -> Path | None:
    """The backup of the file from before the first tap, made if there is none.

    Older ones may be there, of taps that were removed after an edit: ours is the latest.
    """
    kept = latest_beside(change.path)
    is_there = path_kind(kept) is PathKind.FILE
    if _has_taps(change):
        return kept if is_there else None
    if is_there and read_bytes(kept) == change.before:
        return kept
    kept = free_beside(change.path)
    write_private(kept, change.before)
    return kept


def _has_taps(change: FileChange) -> bool:
    """Return whether the file had a tap of this program before the change."""
    found = FoundFile(change.client, change.path)
    text = _text(change.before, change.path)[1]
    return any(server.tap is not None for server in _servers_in(found, text))


class _Source:
    """A file's text, and its document, which is parsed once."""

    def __init__(self, client: McpClient, path: Path, text: str) -> None:
        self.client = client
        self.path = path
        self.text = text

    @functools.cached_property
    def document(self) -> Document:
        return read_document(self.path, self.text, self.client)

    def entry(self, server: ClientServer) -> dict[str, Any]:
        return _at(self.document.value, server)

    def tap(self, server: ClientServer) -> EntryTap | None:
        return entry_tap(self.entry(server))

    def edited(self, server: ClientServer, edit: Callable[[EntryText], str]) -> _Source:
        """Edit the text, and verify that only the command of one entry has changed.

        Raises:
            UserError: the entry cannot be edited.
        """
        _refuse_duplicates(self.document, server)
        entry = self.entry(server)
        form = TomlEntry if is_toml(self.path, self.client) else JsonEntry
        place = (*server.place, *launch_keys(entry))
        try:
            new = _Source(self.client, self.path, edit(form(self.text, place, launch_names(entry))))
            after = new.document.value
        except (UneditableError, UserError) as error:
            reason = str(error) if isinstance(error, UneditableError) else error.details.what
            raise _impossible(server, reason) from error
        if _comparable(self.document.value, server) != _comparable(after, server):
            raise _impossible(server, "it is written in a form that cannot be edited in place")
        return new


def _changed(
    servers: Sequence[ClientServer], change: Callable[[_Source, ClientServer], _Source]
) -> FileChange:
    """Apply `change` to the text of one file for each of the servers."""
    first = servers[0]
    before = read_bytes(first.path)
    mark, text = _text(before, first.path)
    source = _Source(first.client, first.path, text)
    done: list[ClientServer] = []
    entries: list[tuple[Any, Any]] = []
    for server in servers:
        new = change(source, server)
        if new.text != source.text:
            done.append(server)
            entries.append((source.entry(server), new.entry(server)))
            source = new
    after = mark + source.text.encode()
    return FileChange(first.client, first.path, before, after, tuple(done), tuple(entries))


def _tapped(source: _Source, server: ClientServer, program: TapProgram) -> _Source:
    tap = source.tap(server)
    if tap is not None and tap.is_there:
        if not tap.is_older:
            return source
        program = program._replace(data_dir=program.data_dir or tap.data_dir)
    lead = wrapper(program, server.name, server.client.title)
    bare = _bare(source, server)
    return bare.edited(server, lambda entry: wrapped_text(entry, lead))


def _bare(source: _Source, server: ClientServer) -> _Source:
    while (tap := source.tap(server)) is not None:
        source = source.edited(server, functools.partial(unwrapped_text, lead=tap.lead))
    return source


def _at(document: Any, server: ClientServer) -> dict[str, Any]:
    for name in server.place:
        document = document.get(name) if isinstance(document, dict) else None
    if not isinstance(document, dict):
        raise _impossible(server, "it is no longer in the file")
    return document


def _comparable(document: Any, server: ClientServer) -> Any:
    """The document with the untapped entry, for which missing and empty arguments are equal."""
    entry = unwrapped_entry(_at(document, server))
    keys = launch_keys(entry)
    launch = dict(entry["command"] if keys else entry)
    if launch.get("args") == []:
        del launch["args"]
    return _replaced(document, (*server.place, *keys), launch)


def _replaced(document: dict[str, Any], place: Sequence[str], value: Any) -> Any:
    if not place:
        return value
    return {**document, place[0]: _replaced(document[place[0]], place[1:], value)}


def _refuse_duplicates(document: Document, server: ClientServer) -> None:
    """Refuse duplicate keys: clients differ in which one counts."""
    for key in document.duplicates:
        place = (*key.path, key.name)
        common = min(len(place), len(server.place))
        if place[:common] == server.place[:common]:
            what = f"it is ambiguous: line {key.line} has another {formatting.one_line(key.name)!r}"
            raise _impossible(server, what)


def _impossible(server: ClientServer, reason: str) -> UserError:
    name = formatting.one_line(server.name, 60)
    hint = "Nothing was changed. Fix the entry, or exclude this server."
    return UserError(
        ErrorDetails(f"Cannot change the entry of {name!r}: {reason}", str(server.path), hint)
    )


def _text(content: bytes, path: Path) -> tuple[bytes, str]:
    if content.startswith(_UTF16_MARKS):
        what, hint = "The file is not UTF-8, and is not changed", "Save it as UTF-8."
        raise UserError(ErrorDetails(what, str(path), hint))
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    return mark, decoded(content, path)


class Span(NamedTuple):
    """A range of characters."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class _Change(NamedTuple):
    span: Span
    text: str


class EntryText(Protocol):
    """One entry in the text of a document, with the positions of its command and arguments."""

    text: str
    command: Span
    args: Span | None

    def literal(self, word: str) -> str: ...

    def elements(self, most: int) -> list[Span]: ...

    def new_args(self, literal: str) -> _Change:
        """Add arguments to an entry without any."""
        ...

    def made_args(self) -> Span | None:
        """The range that `new_args` added; None if it has been edited since."""
        ...


def wrapped_text(entry: EntryText, lead: Launch) -> str:
    """Insert the command of `lead` and its arguments before the entry's own command."""
    args = [*map(entry.literal, lead.args), entry.command.of(entry.text)]
    changes = [_Change(entry.command, entry.literal(lead.command))]
    if entry.args is None:
        changes.append(entry.new_args(_new_array(args)))
    else:
        changes.append(_added(entry, entry.args, args))
    return _with_changes(entry.text, changes)


def unwrapped_text(entry: EntryText, lead: int) -> str:
    """Remove the first `lead` arguments, and make the next one the command again."""
    if entry.args is None:
        raise UneditableError("it has no arguments")
    found = entry.elements(lead + 2)
    if len(found) <= lead:
        raise UneditableError("its arguments are not strings")
    lead_args = [span.of(entry.text) for span in found[: lead + 1]]
    changes = [_Change(entry.command, lead_args[-1])]
    made = entry.made_args() if entry.args.of(entry.text) == _new_array(lead_args) else None
    if made is not None:
        changes.append(_Change(made, ""))
    else:
        changes.append(_Change(_lead_span(entry, entry.args, found, lead), ""))
    return _with_changes(entry.text, changes)


def _new_array(words: Sequence[str]) -> str:
    """An array that we add. Its inner spaces distinguish it from one that was empty before."""
    return f"[ {', '.join(words)} ]"


def _added(entry: EntryText, args: Span, words: Sequence[str]) -> _Change:
    """Insert our arguments before the first one, on lines of their own if that has one."""
    first = next(iter(entry.elements(1)), None)
    if first is None:
        if entry.text[args.start + 1 : args.end - 1].strip(" \t\r\n") == "":
            return _Change(Span(args.start + 1, args.start + 1), ", ".join(words))
        raise UneditableError("its arguments are not strings")
    before = entry.text[args.start + 1 : first.start]
    space = before[len(before.rstrip(" \t\r\n")) :]
    between = f",{space if chr(10) in space else ' '}"
    return _Change(Span(first.start, first.start), between.join([*words, ""]))


def _lead_span(entry: EntryText, args: Span, found: Sequence[Span], lead: int) -> Span:
    """The arguments of the tap, with the commas between and after them."""
    start, end = found[0].start, found[lead].end
    text = entry.text
    if len(found) > lead + 1:
        after = text[end : found[lead + 1].start]
        comma = _COMMA.match(after)
        if comma is None:
            raise UneditableError("there are comments between its arguments")
        whole = after[comma.end() :].strip(" \t\r\n") == ""
        return Span(start, found[lead + 1].start if whole else end + comma.end())
    comma = _COMMA.match(text[end : args.end])
    return Span(start, end if comma is None else end + comma.end())


_COMMA: Final = re.compile(r"[ \t\r\n]*,")


def _with_changes(text: str, changes: Sequence[_Change]) -> str:
    for change in sorted(changes, key=lambda change: change.span, reverse=True):
        text = text[: change.span.start] + change.text + text[change.span.end :]
    return text


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_ADDED_JSON: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\"args\"[ \t\r\n]*:[ \t\r\n]*")


class JsonEntry:
    """An entry in JSON, with comments and trailing commas allowed."""

    def __init__(self, text: str, path: Sequence[str], names: tuple[str, str]) -> None:
        """Find the entry at `path`; `names` are the keys of its command and arguments.

        Raises:
            UneditableError: The entry was not found, or has no command.
        """
        self.text = text
        self._plain = without_comments(text)  # with the same positions
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
        """Add arguments after the command, on a line of their own if that has one."""
        before = self.text[: self._key_at]
        space = before[len(before.rstrip(" \t\r\n")) :]
        place = Span(self.command.end, self.command.end)
        return _Change(place, f',{space if chr(10) in space else " "}"args": {literal}')

    def made_args(self) -> Span | None:
        """The member with the arguments, and the comma before it."""
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
        """An object's members: the start of the key, and the range of the value."""
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
        """Find the entry at `path`; `names` are the keys of its command and arguments.

        Raises:
            UneditableError: The entry was not found, or tomlkit cannot edit it.
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
        """The ranges of the first arguments, up to one that is not a string."""
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
        """Add arguments on the line below the command, or after it in an inline table."""
        key = self._key(self.command, self._names[0])
        if key is None:
            place = Span(self.command.end, self.command.end)
            return _Change(place, f", {self._names[1]} = {literal}")
        end = self._line_end(self.command.end)
        line_end = "\r\n" if "\r\n" in self.text else "\n"
        text = f"{line_end}{key['head']}{self._names[1]}{key['equals']}{literal}"
        return _Change(Span(end, end), text)

    def made_args(self) -> Span | None:
        """The line with the arguments, or in an inline table from the command to their end."""
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
        """The key before a value on a line of its own."""
        line = self.text[self.text.rfind("\n", 0, value.start) + 1 : value.start]
        return re.fullmatch(_LINE_KEY.format(re.escape(name)), line)

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > at and self.text[end - 1] == "\r" else end

    def _gap_end(self, at: int) -> int:
        found = _TOML_GAP.match(self.text, at)
        return found.end() if found else at
