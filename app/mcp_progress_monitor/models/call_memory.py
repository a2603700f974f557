"""The last arguments of every call, as values that can be saved as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_MOST: Final = 200


class CallMemory:
    """Remembers arguments by server, method and name; the longest unused are forgotten."""

    def __init__(self) -> None:
        self._arguments: dict[tuple[str, str, str], JsonObject] = {}

    def remember(self, server: str, method: str, name: str, arguments: JsonObject) -> None:
        """Keep `arguments` as the last ones."""
        key = (server, method, name)
        self._arguments.pop(key, None)
        self._arguments[key] = arguments
        while len(self._arguments) > _MOST:
            del self._arguments[next(iter(self._arguments))]

    def recall(self, server: str, method: str, name: str) -> JsonObject | None:
        """Return the last arguments; None when there are none."""
        return self._arguments.get((server, method, name))

    def state(self) -> list[list[Any]]:
        """Return everything remembered, oldest first."""
        return [[*key, arguments] for key, arguments in self._arguments.items()]

    def restore(self, state: object) -> None:
        """Take up what was remembered before; entries that make no sense are left out."""
        self._arguments.clear()
        for entry in state if isinstance(state, list) else []:
            match entry:
                case [str(server), str(method), str(name), dict(arguments)]:
                    self.remember(server, method, name, arguments)
