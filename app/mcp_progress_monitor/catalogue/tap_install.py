"""Puts taps around the servers in other clients' configurations, and takes them out again.

Nothing is written before `save`: a change holds the bytes before and after, to be shown first.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import difflib
import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.clients import FoundFile, NoContainerError, containers_of
from mcp_progress_monitor.catalogue.documents import UneditableError, covered, json_text
from mcp_progress_monitor.catalogue.entry_editing import (
    JsonEntry,
    TomlEntry,
    unwrapped_text,
    wrapped_text,
)
from mcp_progress_monitor.catalogue.files import decoded, read_bytes, replace_content, write_private
from mcp_progress_monitor.catalogue.reading import is_toml, read_document
from mcp_progress_monitor.catalogue.taps import (
    entry_tap,
    launch_keys,
    launch_names,
    unwrapped,
    unwrapped_entry,
    wrapper,
)
from mcp_progress_monitor.catalogue.writing import free_beside
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.protocol.secrets import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import McpClient, ServerContainer
    from mcp_progress_monitor.catalogue.documents import Document
    from mcp_progress_monitor.catalogue.entry_editing import EntryText
    from mcp_progress_monitor.catalogue.taps import EntryTap, Launch, TapProgram

_LONGEST_LINE: Final = 600
_CONTEXT: Final = 2
_OTHER_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_URLS: Final = ("url", "serverUrl", "httpUrl", "uri")


@dataclasses.dataclass(frozen=True, slots=True)
class ClientServer:
    """A server in a client's configuration, as a tap sees it.

    `place` are the names of what is around it in the file, and its own. `launch` is the server's
    own command, None where it has none. `tap` is the outermost around it. `why_not` says why it
    cannot be tapped, "" if it can.
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
    """One file with taps put in or taken out.

    `servers` are those that change. `entries` has the entry of each before and after.
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
        """The lines that change, with some around them; values that look like secrets covered."""
        old, new = _text(self.before, self.path)[1], _text(self.after, self.path)[1]
        if max(map(len, (*old.splitlines(), *new.splitlines())), default=0) > _LONGEST_LINE:
            old = "".join(json_text(entry) for entry, _ in self.entries)
            new = "".join(json_text(entry) for _, entry in self.entries)
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), str(self.path), str(self.path), "", "", _CONTEXT, ""
        )
        return [covered(line) for line in lines]


def servers_of(found: FoundFile) -> list[ClientServer]:
    """The servers of a client's file, in its order; none where the file has other settings only.

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
        return dataclasses.replace(server, why_not=_without_command(entry))
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


def _without_command(entry: Mapping[str, Any]) -> str:
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
    """Put a tap around servers of one file; those that have one keep it, if it can still run.

    Raises:
        UserError: the file cannot be read, or an entry cannot be edited.
    """
    return _changed(servers, lambda source, server: _tapped(source, server, program))


def untapped(servers: Sequence[ClientServer]) -> FileChange:
    """Take all taps out of the entries of servers of one file.

    Raises:
        UserError: the file cannot be read, or an entry cannot be edited.
    """
    return _changed(servers, _bare)


def exchanged(
    watch: Sequence[ClientServer], stop: Sequence[ClientServer], program: TapProgram
) -> list[FileChange]:
    """Both at once: one change for each file.

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
    """The servers of each file together, in their order."""
    files: dict[Path, list[ClientServer]] = {}
    for server in servers:
        files.setdefault(server.path, []).append(server)
    return list(files.values())


def save(change: FileChange) -> Path | None:
    """Write a change; returns where the file as it was before the first tap is kept, if it is.

    That copy stays as it is while there are taps in the file, and goes when all of them are out
    and nothing else has changed.

    Raises:
        UserError: the file was changed meanwhile, or cannot be written.
    """
    path = change.path
    if read_bytes(path) != change.before:
        hint = "Try again; the client may have written it."
        raise UserError(ErrorDetails("The file was changed meanwhile", str(path), hint))
    kept = _backup(change)
    replace_content(path, change.after)
    if kept is not None and read_bytes(kept) == change.after:
        with contextlib.suppress(OSError):  # nothing is lost with it, and nothing without
            kept.unlink()
        return None
    return kept


def _backup(change: FileChange) -> Path | None:
    """The copy of the file from before the first tap, made if it is not there yet."""
    kept = change.path.with_name(f"{change.path.name}.before")
    is_there = path_kind(kept) is PathKind.FILE
    if _has_taps(change):
        return kept if is_there else None
    if is_there and read_bytes(kept) == change.before:
        return kept
    kept = free_beside(change.path)
    write_private(kept, change.before)
    return kept


def _has_taps(change: FileChange) -> bool:
    """Whether the file had a tap of this program before the change."""
    found = FoundFile(change.client, change.path)
    text = _text(change.before, change.path)[1]
    return any(server.tap is not None for server in _servers_in(found, text))


class _Source:
    """A file's text, read once however often it is looked at."""

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
        """The text with one command changed, and nothing else: it is read again to be sure.

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
    """What `change` makes of the text for each of the servers of one file."""
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
        return source
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
    """The document with the bare entry; no arguments are the same as none said."""
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
    """Clients differ in which of two members with one name counts."""
    for key in document.duplicates:
        place = (*key.path, key.name)
        common = min(len(place), len(server.place))
        if place[:common] == server.place[:common]:
            what = f"it is ambiguous: line {key.line} has another {formatting.one_line(key.name)!r}"
            raise _impossible(server, what)


def _impossible(server: ClientServer, reason: str) -> UserError:
    name = formatting.one_line(server.name, 60)
    hint = "Nothing was changed. Correct the entry, or leave this server out."
    return UserError(
        ErrorDetails(f"Cannot change the entry of {name!r}: {reason}", str(server.path), hint)
    )


def _text(content: bytes, path: Path) -> tuple[bytes, str]:
    if content.startswith(_OTHER_MARKS):
        what, hint = "The file is not UTF-8, and is not changed", "Save it as UTF-8."
        raise UserError(ErrorDetails(what, str(path), hint))
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    return mark, decoded(content, path)
