"""Remembered calls: the last arguments of each tool, and calls saved by folder and name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.protocol.facts import JsonObject

_MOST: Final = 400
_MOST_OF_ONE: Final = 20


class CallMemory:
    """The last arguments by server, method and name; the least recently used are dropped."""

    def __init__(self) -> None:
        self._entries: list[tuple[tuple[str, str, str], JsonObject]] = []

    def remember(self, server: str, method: str, name: str, arguments: JsonObject) -> None:
        """Store `arguments` as the last ones; equal ones are stored once."""
        key = (server, method, name)
        self._entries = [entry for entry in self._entries if entry != (key, arguments)]
        self._entries.append((key, arguments))
        of_one = [entry for entry in self._entries if entry[0] == key]
        if len(of_one) > _MOST_OF_ONE:
            self._entries.remove(of_one[0])
        del self._entries[:-_MOST]

    def recall(self, server: str, method: str, name: str) -> JsonObject | None:
        """Return the last arguments; None if there are none."""
        return next(iter(self.recent(server, method, name)), None)

    def recent(self, server: str, method: str, name: str) -> list[JsonObject]:
        key = (server, method, name)
        return [arguments for of, arguments in reversed(self._entries) if of == key]

    def state(self) -> list[list[Any]]:
        """Return everything remembered, oldest first."""
        return [[*key, arguments] for key, arguments in self._entries]

    def restore(self, state: object) -> None:
        """Restore saved state; invalid entries are ignored."""
        self._entries.clear()
        for entry in state if isinstance(state, list) else []:
            match entry:
                case [str(server), str(method), str(name), dict(arguments)]:
                    self.remember(server, method, name, arguments)


class SavedCall(NamedTuple):
    """A call saved under a title; `folder` is empty outside of folders."""

    folder: str
    title: str
    server: str
    method: str
    name: str
    arguments: JsonObject


class SavedCalls:
    """Saved calls by folder and title, sorted."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], SavedCall] = {}

    def __iter__(self) -> Iterator[SavedCall]:
        """All saved calls: those in no folder first, then each folder's."""
        return iter([self._calls[key] for key in sorted(self._calls, key=_place)])

    @property
    def folders(self) -> list[str]:
        return sorted({call.folder for call in self._calls.values() if call.folder})

    def get(self, folder: str, title: str) -> SavedCall | None:
        """Return the call with that title in that folder."""
        return self._calls.get((folder, title))

    def save(self, call: SavedCall) -> None:
        """Save a call, replacing one with the same title in the same folder."""
        self._calls[call.folder, call.title] = call

    def move(self, call: SavedCall, folder: str, title: str) -> None:
        self.remove(call)
        self.save(call._replace(folder=folder, title=title))

    def remove(self, call: SavedCall) -> None:
        self._calls.pop((call.folder, call.title), None)

    def state(self) -> dict[str, Any]:
        return {"calls": [call._asdict() for call in self]}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid entries are ignored."""
        self._calls.clear()
        calls = state.get("calls")
        for entry in calls if isinstance(calls, list) else []:
            match entry:
                case {
                    "folder": str(folder),
                    "title": str(title),
                    "server": str(server),
                    "method": str(method),
                    "name": str(name),
                    "arguments": dict(arguments),
                }:
                    self.save(SavedCall(folder, title, server, method, name, arguments))


def _place(key: tuple[str, str]) -> tuple[str, str, str]:
    folder, title = key
    return folder.casefold(), title.casefold(), title


def forget_arguments(preferences: Preferences) -> None:
    """Forget the saved arguments of all tools; calls saved by name stay."""
    preferences.keep_json("calls", {**preferences.json_of("calls"), "arguments": []})
