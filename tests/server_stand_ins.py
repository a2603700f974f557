"""Servers without a monitor."""

from typing import Any

from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot


def server(name: str, **changes: Any) -> ServerSnapshot:
    """A server that was never connected, with `changes` to its fields."""
    definition = StdioDefinition(name=name, command=f"run-{name}", args=("--fast",))
    return ServerSnapshot(name=name, definition=definition, **changes)


class FakeServers:
    """A `ServerSource`: says what a test put into it."""

    def __init__(self, *servers: ServerSnapshot) -> None:
        self.held = list(servers)
        self.stray: dict[str, int] = {}

    def names(self) -> list[str]:
        """The names of all servers held."""
        return [each.name for each in self.held]

    def snapshot(self, name: str) -> ServerSnapshot:
        """One server as held."""
        return next(each for each in self.held if each.name == name)

    def servers(self) -> list[ServerSnapshot]:
        """All servers as held."""
        return list(self.held)

    def unattached_ticks(self, connection: str) -> int:
        """The count a test put in."""
        return self.stray.get(connection, 0)
