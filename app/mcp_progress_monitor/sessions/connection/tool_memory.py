"""The tools that each server listed last, to notice definitions that change between sessions."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import os
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import private_file
from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.offers import MOST_CHANGES, TOOL_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_log = logging.getLogger(__name__)

FOLDER_NAME: Final = "server-tools"
_MOST_SERVERS: Final = 200
_MOST_BYTES: Final = 256 * 1024  # of one server's tools
_DIFF_LINES: Final = 40  # removed or added, of one part
_LONGEST_LINE: Final = 400
_BEFORE_CHANGE: Final = 40  # characters of a long line that are shown before the first difference


class ToolMemory:
    """Tools by server, in one private file each; those of the servers used last are kept.

    Servers are identified as by approvals. If a file cannot be read or written, changes are missed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exchange(self, definition: ServerDefinition, tools: Sequence[Tool]) -> list[JsonObject]:
        """Remember a server's tools; returns those whose definition changed since they were listed.

        Each has its name as `tool`, the changed `parts` and a `diff`, as text. Tools that are not
        listed now are remembered as well: one that disappears for a session is still compared.
        Blocks.
        """
        path = self._folder / f"{definition.approval_key}.json"
        before = _read(path)
        now = {tool.name: _entry(tool.raw) for tool in tools}
        changed = (
            _change(name, before[name], entry)
            for name, entry in now.items()
            if name in before and before[name].get("digest") != entry["digest"]
        )
        changes = [*itertools.islice(changed, MOST_CHANGES)]
        try:
            private_file.make_folder(self._folder)
            content = _bounded({**now, **{n: e for n, e in before.items() if n not in now}})
            private_file.put(path, content, waits_for_disk=False)
            self._delete_oldest()
        except OSError as error:
            _log.info("the tools of a server cannot be remembered: %s", error)
        return changes

    def _delete_oldest(self) -> None:
        files = [entry for entry in os.scandir(self._folder) if entry.name.endswith(".json")]
        if len(files) > _MOST_SERVERS:
            files.sort(key=_age)
            for entry in files[_MOST_SERVERS:]:
                with contextlib.suppress(OSError):
                    os.unlink(entry)  # noqa: PTH108  # an entry of scandir


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return -entry.stat().st_mtime
    except OSError:  # another program deleted it
        return 0.0


def _read(path: Path) -> dict[str, JsonObject]:
    try:
        if path_kind(path) is not PathKind.FILE or path.stat().st_size > _MOST_BYTES:
            return {}
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        _log.info("the tools of a server cannot be read: %s", error)
        return {}
    found = document.get("tools") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        return {}
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)}


def _entry(tool: JsonObject) -> JsonObject:
    parts = {part: tool[part] for part in TOOL_PARTS if part in tool}
    return {"digest": hashlib.sha256(canonical(parts)).hexdigest(), "definition": parts}


def _bounded(entries: Mapping[str, JsonObject]) -> bytes:
    """The file's content, within its limit: without definitions, or tools, that do not fit."""
    kept: list[str] = []
    left = _MOST_BYTES - len('{"tools":{}}')
    for name, entry in entries.items():
        for each in (entry, {"digest": entry.get("digest")}):
            text = f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}"
            if len(text) < left:
                kept.append(text)
                left -= len(text) + 1
                break
    return f'{{"tools":{{{",".join(kept)}}}}}'.encode()


def _change(name: str, before: JsonObject, now: JsonObject) -> JsonObject:
    known, listed = before.get("definition"), now["definition"]
    if not isinstance(known, dict):  # it was too large to be kept
        return {"tool": name, "parts": [], "diff": ""}
    parts = [part for part in TOOL_PARTS if known.get(part) != listed.get(part)]
    lines = (line for part in parts for line in _diff(part, known.get(part), listed.get(part)))
    return {"tool": name, "parts": parts, "diff": "\n".join(lines)}


def _diff(part: str, before: Any, now: Any) -> Iterator[str]:
    """The lines of a part from its first to its last difference, in steps linear in its size."""
    old, new = _lines(before), _lines(now)
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    same = sum(1 for _ in itertools.takewhile(_are_equal, zip(old, new, strict=False)))
    old, new = old[same:], new[same:]
    start = 0
    if old and new:
        pairs = zip(old[0], new[0], strict=False)
        common = sum(1 for _ in itertools.takewhile(_are_equal, pairs))
        start = max(common - _BEFORE_CHANGE, 0)
    yield f"{part}:"
    for sign, lines in (("-", old), ("+", new)):
        for place, line in enumerate(lines[:_DIFF_LINES]):
            cut = start if place == 0 else 0
            yield f"{sign} {'…' if cut else ''}{elide(line[cut:], _LONGEST_LINE)}"
        if len(lines) > _DIFF_LINES:
            yield f"{sign} …"


def _are_equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines()
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
